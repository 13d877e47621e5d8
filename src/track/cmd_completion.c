#include "config.h"
#include "track/track.h"

#include <stdio.h>
#include <string.h>

const struct opt opts_completion[] = { { 0 } };

/*
 * The scripts ask the program itself: --dump-options for commands and options,
 * `gtrack ls` for the names of runs.  So they never tell anything else than
 * the program does, and need no change when it changes.
 */
static const char bash[] =
    "# bash completion of gtrack: eval \"$(gtrack completion bash)\"\n"
    "_gtrack() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} cmd= i IFS=$'\\n'\n"
    "    local all=$'\\n'$(gtrack --dump-options | cut -f1 | sort -u)$'\\n'\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        [[ -n ${COMP_WORDS[i]} && $all == *$'\\n'${COMP_WORDS[i]}$'\\n'* "
    "]] &&\n"
    "            { cmd=${COMP_WORDS[i]}; break; }\n"
    "    done\n"
    "    if [[ -z $cmd ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$all\" -- \"$cur\"))\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$(gtrack --dump-options |\n"
    "            awk -F'\\t' -v c=\"$cmd\" '$1 == c && $3 != \"\" "
    "{ print \"--\" $3 }')\" -- \"$cur\"))\n"
    "    elif [[ $cmd == import || $cmd == exec ]]; then\n"
    "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
    "    else\n"
    "        compopt -o filenames 2>/dev/null # quotes blanks\n"
    "        COMPREPLY=($(compgen -W \"$(gtrack ls -c name --tsv --no-header "
    "2>/dev/null; echo @latest)\" -- \"$cur\"))\n"
    "    fi\n"
    "}\n"
    "complete -o default -F _gtrack gtrack\n";

static const char zsh[] =
    "#compdef gtrack\n"
    "# zsh completion of gtrack: eval \"$(gtrack completion zsh)\"\n"
    "_gtrack() {\n"
    "    local -a found all\n"
    "    local cmd= w\n"
    "    all=(${(f)\"$(gtrack --dump-options | cut -f1 | sort -u)\"})\n"
    "    for w in ${words[2,CURRENT-1]}; do\n"
    "        (( ${all[(Ie)$w]} )) && { cmd=$w; break }\n"
    "    done\n"
    "    if [[ -z $cmd ]]; then\n"
    "        found=(${(f)\"$(gtrack --dump-options | awk -F'\\t' "
    "'$1 != \"\" && $2 == \"\" { print $1 \":\" $5 }')\"})\n"
    "        _describe command found\n"
    "    elif [[ $PREFIX == -* ]]; then\n"
    "        found=(${(f)\"$(gtrack --dump-options | awk -F'\\t' -v c=$cmd "
    "'$1 == c && $3 != \"\" { print \"--\" $3 \":\" $5 }')\"})\n"
    "        _describe option found\n"
    "    elif [[ $cmd == import || $cmd == exec ]]; then\n"
    "        _files\n"
    "    else\n"
    "        found=(${(f)\"$(gtrack ls -c name --tsv --no-header "
    "2>/dev/null; echo @latest)\"})\n"
    "        compadd -a found\n"
    "    fi\n"
    "}\n"
    "(( $+functions[compdef] )) && compdef _gtrack gtrack\n";

static const char fish[] =
    "# fish completion of gtrack: gtrack completion fish | source\n"
    "function __gtrack_options\n"
    "    set -l cmd (commandline -opc)[2]\n"
    "    gtrack --dump-options | awk -F'\\t' -v c=\"$cmd\" "
    "'$1 == c && $3 != \"\" { print \"--\" $3 \"\\t\" $5 }'\n"
    "end\n"
    "complete -c gtrack -f -n __fish_use_subcommand -a "
    "\"(gtrack --dump-options | awk -F'\\t' "
    "'\\$1 != \\\"\\\" && \\$2 == \\\"\\\" { print \\$1 \\\"\\t\\\" \\$5 "
    "}')\"\n"
    "complete -c gtrack -f -n 'not __fish_use_subcommand; and not "
    "__fish_seen_subcommand_from import exec' -a "
    "\"(gtrack ls -c name --tsv --no-header 2>/dev/null; echo @latest)\"\n"
    "complete -c gtrack -n 'not __fish_use_subcommand; and string match -q "
    "-- \"-*\" (commandline -ct)' -a '(__gtrack_options)'\n"
    "complete -c gtrack -F -n '__fish_seen_subcommand_from import exec'\n";

CMD(completion)
{
    static const struct {
        const char *shell, *script;
    } scripts[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

    for (size_t i = 0; argc == 1 && i < sizeof scripts / sizeof scripts[0];
         i++) {
        if (strcmp(argv[0], scripts[i].shell) == 0) {
            fputs(scripts[i].script, stdout);
            return 0;
        }
    }
    return err_set(e, ERR_USAGE, "usage: gtrack completion bash, zsh or fish");
}
