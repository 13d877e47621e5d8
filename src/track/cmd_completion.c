/*
 * gtrack completion - print a completion script for a shell
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "common/opt.h"
#include "track/complete.h"
#include "track/runs/track.h"

/*
 * The scripts ask the program for the completions of a line, and fall back on
 * the names of files.  The names of runs may hold anything: no script may let
 * its shell evaluate them.
 */
static const char bash[] =
    "# bash completion of the suite: eval \"$(gtrack completion bash)\"\n"
    "_gtrack() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} words=() i w IFS=$'\\n'\n"
    "    # bash takes words apart at '=' and ':'; a blank is between two\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        w=${COMP_WORDS[i]}\n"
    "        if ((i)) && [[ $line != [[:blank:]]* ]]; then\n"
    "            ((i == COMP_CWORD)) && w=$line\n"
    "            words[${#words[@]}-1]+=$w\n"
    "        else\n"
    "            line=${line#\"${line%%[![:blank:]]*}\"}\n"
    "            ((i == COMP_CWORD)) && w=$line\n"
    "            words+=(\"$w\")\n"
    "        fi\n"
    "        line=${line#\"$w\"}\n"
    "    done\n"
    "    w=${words[${#words[@]}-1]}\n"
    "    words=(\"${words[@]//[\\\\\\\"\\']/}\")\n"
    "    COMPREPLY=()\n"
    "    while read -r line; do\n"
    "        line=${line%%$'\\t'*}\n"
    "        [[ $w == [\\\"\\']* ]] || line=${line#\"${w%\"${w##*[=:]}\"}\"}\n"
    "        [[ $w == -* ]] && printf -v line %q \"$line\"\n"
    "        COMPREPLY+=(\"$line\")\n"
    "    done < <(gtrack completion words -- \"${words[@]}\" 2>/dev/null)\n"
    "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
    "    [[ $w == -* ]] || compopt -o filenames 2>/dev/null # quotes blanks\n"
    "}\n"
    "complete -o default -F _gtrack gtrack gplot gtrain gdata\n";

static const char zsh[] =
    "#compdef gtrack gplot gtrain gdata\n"
    "# zsh completion of the suite: eval \"$(gtrack completion zsh)\"\n"
    "_gtrack() {\n"
    "    local -a found shown\n"
    "    local line tab=$'\\t'\n"
    "    gtrack completion words -- \"${(@Q)words[1,CURRENT-1]}\" "
    "\"${(Q)PREFIX}\" 2>/dev/null |\n"
    "        while IFS= read -r line; do\n"
    "            found+=(\"${line%%$tab*}\")\n"
    "            shown+=(\"${line/$tab/  -- }\")\n"
    "        done\n"
    "    if (( ! $#found )); then\n"
    "        compset -P '--*=' # --config=FILE\n"
    "        _files\n"
    "    elif [[ $found[1] == *= ]]; then\n"
    "        compadd -S '' -l -d shown -a found\n"
    "    else\n"
    "        compadd -l -d shown -a found\n"
    "    fi\n"
    "}\n"
    "if [[ $funcstack[1] == _gtrack ]]; then # loaded by the first use of it\n"
    "    _gtrack\n"
    "elif (( $+functions[compdef] )); then\n"
    "    compdef _gtrack gtrack gplot gtrain gdata\n"
    "fi\n";

static const char fish[] =
    "# fish completion of the suite: gtrack completion fish | source\n"
    "function __gtrack\n"
    "    set -l word (commandline -ct |\n"
    "        string replace -ra '[\\\\\\\\\\'\"]' '')\n"
    "    set -l found (gtrack completion words -- (commandline -opc) \"$word\" "
    "2>/dev/null)\n"
    "    if test (count $found) -gt 0\n"
    "        printf '%s\\n' $found\n"
    "    else\n"
    "        set -l option (string match -r '^--[^=]*=' -- \"$word\")\n"
    "        set -l value (string replace -r '^--[^=]*=' '' -- \"$word\")\n"
    "        printf '%s\\n' \"$option\"(__fish_complete_path \"$value\")\n"
    "    end\n"
    "end\n"
    "for program in gtrack gplot gtrain gdata\n"
    "    complete -c $program -f -a '(__gtrack)'\n"
    "end\n";

static int completion_main(int argc, char **argv, struct err *e)
{
    static const struct {
        const char *shell, *script;
    } scripts[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

    if (argc > 1 && strcmp(argv[0], "words") == 0) {
        struct buf out = BUF_INIT;

        track_confine_reader();
        complete(&out, argc - 1, argv + 1);
        fputs(out.s, stdout); /* style: own */
        buf_clear(&out);
        return 0;
    }
    for (size_t i = 0; argc == 1 && i < sizeof scripts / sizeof scripts[0];
         i++) {
        if (strcmp(argv[0], scripts[i].shell) == 0) {
            fputs(scripts[i].script, stdout); /* style: own */
            return 0;
        }
    }
    return err_set(e, ERR_USAGE,
                   "completion expects a shell: bash, zsh or fish");
}

const struct cmd cmd_completion = {
    .name = "completion",
    .args = "SHELL",
    .help = "print a completion script for a shell",
    .run = completion_main,
};
