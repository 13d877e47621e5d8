"""Documents kept by datatrove's filters, with words that white space separates.

    clean.py make DOCS           write texts at each threshold, and random ones,
                                 and the lists words.txt, domains.txt, urls.txt
    clean.py filter SET DOCS OUT write what the filter SET of datatrove keeps,
                                 and "NUMBER REASON" of what it drops to OUT.why
"""
import json
import random
import sys

GRAMS = {2: 0.2, 3: 0.18, 4: 0.16, 5: 0.15, 6: 0.14, 7: 0.13, 8: 0.12, 9: 0.11,
         10: 0.1}  # the limits by the number of words
STOP = ["the", "be", "to", "of", "and", "that", "have", "with"]


def word(rng, n):
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(n))


def words(rng, n, length=5):
    out = [word(rng, length) for _ in range(n)]
    for i, stop in enumerate(("the", "with")[:n]):
        out[i] = stop
    return out


def near(n, by=2):
    return range(max(0, n - by), n + by + 1)


def gopher(rng):
    for n in near(100000, 1):
        yield " ".join(words(rng, n))
    for n in near(50):
        yield " ".join(words(rng, n))
        yield " ".join(words(rng, n) + ["--", "\u2026\u3002", "\u00ab"])
    for n in (3, 10):
        for off in near(0):
            for sign in (1, -1):
                w = words(rng, 60, n)
                w[0], w[1] = word(rng, n), word(rng, n)
                w[2:4] = ["to" + "x" * (n - 2), "of" + "y" * (n - 2)]
                w += ["be"] * 4 + [word(rng, 2 * n - 2)] * 4 + ["to"]
                w[-1] = "to" + "" * n
                w[10] = word(rng, max(1, n + n - 2 + sign * off))
                yield " ".join(w)
    for mark in ("#", "...", "\u2026", "......", "....", "##"):
        for k in near(10 // (len(mark) if mark[0] == "#" else 1), 3):
            w = words(rng, 100)
            for i in range(k):
                w[10 + 3 * i] += mark
            yield " ".join(w)
    for k in near(90):
        for mark in ("- ", "\u2022", " \t-", "\u00a0\u2022 "):
            for end in ("\n", "\r\n", "\u2028", "\x0b"):
                yield end.join((mark if i < k else "") + " ".join(
                    words(rng, 3)) for i in range(100))
    for k in near(30):
        for mark in ("...", "\u2026", "... ", "\u2026\u3000"):
            yield "\n".join(" ".join(words(rng, 30)) + (mark if i < k else "")
                            for i in range(100))
    for k in near(80):
        for other in ("123", "12\u00b2", "--", "\u0663", "\u4e2d", "\u00e91"):
            w = words(rng, 100)
            w[k:] = [other] * (100 - k)
            yield " ".join(w)
    for k in range(4):
        w = [word(rng, 6) for _ in range(80)]
        for i in range(k):
            w[20 * i] = STOP[(3 * i + k) % 8]
        yield " ".join(w)
        yield " ".join(w + STOP[k:k + 1] * 5 + [STOP[k] + "x"])


def repetition(rng):
    for least, join in ((30, "\n"), (30, "\n\n"), (30, "\n\n\n"), (30, "\n \n")):
        for k in near(least):
            for length in (3, 20, 60):
                one = " ".join(words(rng, 4))
                unique = [word(rng, length) for _ in range(100 - k)]
                yield join.join(unique + unique[:1] * k)
                yield join.join(unique[:1] * k + unique) + join
                yield join + join.join([one] * (k + 1) + unique[1:]) + join
    for k in range(0, 60):  # the share of characters, in small steps
        line = word(rng, 10)
        yield "\n".join([word(rng, 90 + k)] * 1 + [line] * 3 + [word(rng, 9)])
        yield "\n\n".join([word(rng, 40 + k), line, line, line[:k]])
    for n in (2, 3, 4):
        phrase = words(rng, n, 7)
        for k in range(2, 30):
            for between in (3, 7, 20):
                w = []
                for i in range(k):
                    w += phrase + words(rng, 1 + i % between, 4)
                yield " ".join(w)
    for n in range(5, 12):
        for k in range(1, 45):
            phrase = words(rng, n, 4)
            w = words(rng, 200) + phrase
            for i in range(1 + k // 12):
                w += words(rng, 2) + phrase[:n - k % 3]
            yield " ".join(w + words(rng, 3 * k))
    yield "a aa " * 60 + "aaa " * 40 + "aa a " * 60
    yield from ("- -- --- -- - " * k + " ".join(words(rng, 80))
                for k in range(1, 12))
    for k in range(1, 9):
        yield " ".join(words(rng, k))
        yield " ".join(["again"] * k)


def grams(rng):
    for n, limit in GRAMS.items():
        for k in (2, 3, 5):
            chars = (5 * n - 1) * k if n < 5 else 4 * n * (k - 1)
            for size in near(int(chars / limit)):
                phrase = words(rng, n, 4)
                w = (phrase + [word(rng, 9)]) * k
                for i in range(1, k):  # what is between them differs
                    w[(n + 1) * i - 1] = word(rng, 9)
                text = " ".join(w)
                while len(text) < size - 11:
                    text += " " + word(rng, 9)
                yield text + " " + word(rng, max(1, size - len(text) - 1))
    for _ in range(300):  # the same letters, divided in other ways
        yield " ".join(rng.choices(["a", "b", "aa", "ab", "ba", "caab"],
                                   k=rng.randint(1, 60)))


def fineweb(rng):
    def lines(n, make):
        return "\n".join(make(i) for i in range(n))

    for k in near(12):
        for end in (".", "?", "!", "\u3002", "\u061f", "\u0964", ". ", ":", '"'):
            yield lines(100, lambda i: " ".join(words(rng, 9))
                        + (end if i < k else ""))
    for k in near(67):
        for n in (29, 30, 31):
            for c in ("a", "\u4e2d", "\U00020000"):
                yield lines(100, lambda i: c * (n - 8) + word(rng, 3) + " "
                            + word(rng, 3) + "." if i < k else
                            word(rng, 45) + ".")
    for k in range(0, 40):
        w = [" ".join(words(rng, 30)) + "." for _ in range(10)]
        one = word(rng, 2 + k % 20) + "."
        yield "\n".join(w[:k % 9 + 1] + [one, one] + w[k % 9 + 1:])
    for k in near(30):
        yield "\n".join([" ".join(words(rng, 100 - 2 * k, 16)) + "."]
                        + [word(rng, 35) + " and." for _ in range(k)])
        yield "\n" * k + " ".join(words(rng, 100)) + "."
    yield "\n \n\u00a0\n" + "Words that are here, and end.\n" * 3


def c4(rng):
    def page(*lines, more=5):
        return "\n".join([*lines, *("This is one more line of it."
                                    for _ in range(more))])

    for n in near(5):  # sentences, in one line and in several
        yield page(more=n)
        yield " ".join(["One sentence of it is here."] * n)
        yield " ".join(["He said \"no.\" "] * n) + "\ne.g. this is one, i.e. it?"
        yield "\n".join(["Is (it) \u201cso?\u201d No! And... yes.)", "and so."] * n)
    for end in (".", "?", "!", '"', "'", "...", "....", "\u2026", ":", ")", ".)",
                "\u3002", ".\u201d", ". ", ".\u00a0", ".\x00", "..", "?.."):
        for what in ("", "[1]", "[]", "[edit]", "[citation needed]", "[x]", "[",
                     "[[2]]", " [3]", "[4", "[5] [6]"):
            yield page("A line that ends so" + what + end, "And so" + end + what)
            yield page(what + end + " begins so as a line.")
    for n in near(3):
        for between in (" ", "\u3000", "\t \t", "\xa0"):
            yield page(between.join(words(rng, n)) + ".", "[1] [2] three.")
    for n in near(1000, 1):
        yield page("A word " + word(rng, n) + " here.", "As \u00e9" + "\u4e2d" * (
            n - 2) + " here.", word(rng, n - 3) + "[1]. And here.")
    for phrase in ("javascript", "JavaScript", "JAVASCRIPT", "java script",
                   "lorem ipsum", "Lorem Ipsum", "lorem  ipsum", "{", "}", "{{",
                   "terms of use", "Privacy Policy", "cookie policy",
                   "uses cookies", "Use of Cookies", "use cookies", "usescookies",
                   "privacy policies"):
        for line in ("Here is {} in a line.", "Here is {} in it", "{}.", "{}",
                     "{} lorem ipsum is there.", "A {} with javascript in it.",
                     "The { and {} are here.", "We use cookies with { and {}."):
            yield page(line.replace("{}", phrase))
            yield page(line.replace("{}", phrase), more=4)
    for end in ("\n", "\r\n", "\r", "\u2028", "\x0b", "\x1c", "\n\n", "\n \n"):
        yield end.join(["A line of the text.", "no", "[7] Another one is here."] * 4)
        yield end + end.join(["[8] A line of it.", " It ends. "] * 4) + end


LISTS = {"words": ["bad", "hot pocket", "2 girls", "s&m", "g-spot", "\U0001f595",
                   "caf\u00e9", "\u0445\u0443\u0439", "4x", "end."],
         "domains": ["example.com", "bad.co.uk", "sub.fine.org"],
         "urls": ["casino", "xxx", "4x"]}


def listed(rng):
    around = [" ", ".", "-", "\n", "\u00e9", "7", "\u0416", "\U0001f600", "",
              "\u3002"]
    for entry in LISTS["words"]:
        for before in around:
            for after in around:
                for form in (entry, entry.upper(), entry.replace(" ", "\n")):
                    yield "Some" + before + form + after + "more"
    for _ in range(1000):
        yield "x" + "".join(rng.choice(around + ["bad", "hot", "pocket", "s", "m", "4x",
                                                 "2", "girls", "end", "spot", "g"])
                            for _ in range(rng.randint(1, 9)))


def url(rng):
    host = "".join(rng.choice(["www", ".", "-", "example", ".com", "bad", ".co.uk",
                               "sub", "fine", ".org", "casino"])
                   for _ in range(rng.randint(1, 5))).strip(".-") or "host"
    path = "".join(rng.choice(["/", "-", "_", "casino", "xxx", "4x", "?", "s", "%20"])
                   for _ in range(rng.randint(0, 6)))
    return rng.choice(["http", "https"]) + "://" + rng.choice(["", "", "me@"]) \
        + host + rng.choice(["", ":80"]) + ("/" + path if path else "")


def web(rng, n):
    """Paragraphs, menus, lists and what else pages have."""
    vocabulary = [word(rng, 1 + int(rng.expovariate(0.2))) for _ in range(3000)]
    vocabulary += STOP * 100 + ["caf\u00e9", "\u4e2d\u6587", "na\u00efve", "42",
                                "3.14", "C++", "\u00bfqu\u00e9?", "e\u0301a"] * 5
    odd = ["\u00a0", "\u3000", "\t", "  ", "\x1f", "\u2009", "\x85", "\r"]

    def sentence():
        w = rng.choices(vocabulary, k=rng.randint(3, 25))
        for _ in range(rng.randint(0, 2)):
            w[rng.randrange(len(w))] += rng.choice(",;:-")
        if rng.random() < 0.03:
            w.insert(1, rng.choice(odd).join(("a", "b")))
        if rng.random() < 0.05:
            w.insert(2, rng.choice(["[12]", "{", "\u2014", "JavaScript", "#tag",
                                    "[citation needed]", "use cookies", "..."]))
        return " ".join(w).capitalize() + rng.choice([".", ".", ".", "!", "?",
                                                      "...", "\u2026", "", '."'])

    for _ in range(n):
        parts, menu = [], [word(rng, 6).title() for _ in range(4)]
        for _ in range(int(rng.expovariate(0.15)) + 1):
            kind = rng.random()
            if kind < 0.6:
                parts.append(" ".join(sentence()
                                      for _ in range(rng.randint(1, 6))))
            elif kind < 0.7:
                parts += rng.choices(menu, k=rng.randint(1, 5))
            elif kind < 0.8:
                parts += [rng.choice(["- ", "\u2022 ", "* "]) + sentence()
                          for _ in range(rng.randint(1, 6))]
            elif kind < 0.9 and parts:
                parts += rng.choices(parts, k=rng.randint(1, 3))
            else:
                w = rng.choices(vocabulary, k=rng.randint(2, 8))
                parts.append(" ".join(w * rng.randint(1, 9)))
        yield rng.choice(["\n", "\n", "\n\n", "\r\n"]).join(parts)


def make(path):
    rng = random.Random(5)
    texts = [*gopher(rng), *repetition(rng), *grams(rng), *fineweb(rng), *c4(rng),
             *web(rng, 3000), *listed(rng)]
    with open(path, "w", encoding="utf-8") as f:
        for i, text in enumerate(texts):
            json.dump({"id": i, "text": text, "url": url(rng)}, f)
            f.write("\n")
    for name, entries in LISTS.items():
        with open(name + ".txt", "w", encoding="utf-8") as f:
            f.writelines(e + "\n" for e in entries)


def sentences(line, language=None):
    """Sentences end with a word that has a terminal mark at its end, unless a
    small letter follows, and with the line."""
    from datatrove.utils.text import TERMINAL_PUNCTUATION

    out, ended = [], True
    for w in line.split():
        if ended and not (out and "a" <= w[0] <= "z"):
            out.append("")
        out[-1] += w
        ended = (w.rstrip("\"')]\u2019\u201d") or w[0])[-1] in TERMINAL_PUNCTUATION
    return out


def url_filters():
    try:
        import ahocorasick  # noqa: F401
        import fasteners  # noqa: F401
        from tldextract import TLDExtract
    except ImportError:
        return {}
    from datatrove.pipeline.filters.url_filter import URLFilter

    out = {"domains": URLFilter(use_integrated_lists=False,
                                extra_domains=LISTS["domains"]),
           "urls": URLFilter(use_integrated_lists=False,
                             banned_words=LISTS["urls"])}
    for f in out.values():
        f.tldextractor = TLDExtract(suffix_list_urls=())
    return out


def filters():
    import datatrove.pipeline.filters.c4_filters as c4f
    import datatrove.pipeline.filters.fineweb_quality_filter as fwf
    import datatrove.pipeline.filters.gopher_quality_filter as gqf
    import datatrove.pipeline.filters.gopher_repetition_filter as grf

    for module in (fwf, gqf, grf):
        module.split_into_words = lambda text, language=None: text.split()
    c4f.split_into_sentences = sentences
    no_lines = dict.fromkeys(("dup_line_frac", "dup_para_frac",
                              "dup_line_char_frac", "dup_para_char_frac"))
    alone = {f"gram_{n}": grf.GopherRepetitionFilter(
        top_n_grams=[(n, limit)] if n < 5 else (),
        dup_n_grams=[(n, limit)] if n >= 5 else (), **no_lines)
        for n, limit in GRAMS.items()}
    c4f.cached_asset_path_or_download = lambda url, **_: "words.txt"
    return {**alone, **url_filters(), "words": c4f.C4BadWordsFilter(),
            "gopher": gqf.GopherQualityFilter(),
            "repetition": grf.GopherRepetitionFilter(),
            "fineweb": fwf.FineWebQualityFilter(),
            "c4": c4f.C4QualityFilter(),
            "c4_open": c4f.C4QualityFilter(
                filter_no_terminal_punct=False, remove_citations=False,
                min_words_per_line=5, min_num_sentences=3)}


def filter_documents(name, docs, out):
    import warnings

    from datatrove.data import Document

    warnings.simplefilter("ignore")
    keep = filters()[name]
    with open(docs, encoding="utf-8") as f, \
            open(out, "w", encoding="utf-8") as kept, \
            open(out + ".why", "w", encoding="utf-8") as why:
        for line in f:
            d = json.loads(line)
            doc = Document(text=d["text"], id=str(d["id"]),
                           metadata={"url": d["url"]})
            got = keep.filter(doc)
            reason = "kept"
            if got is True:
                json.dump({"id": d["id"], "text": doc.text}, kept)
                kept.write("\n")
            else:
                reason = got[1]
            why.write(f"{d['id']} {reason}\n")


def compare(theirs, ours):
    """Compare the ids and texts of kept documents."""
    a, b = ({d["id"]: d["text"] for d in map(json.loads, open(p))}
            for p in (theirs, ours))
    for i in sorted(a.keys() | b.keys()):
        if a.get(i) != b.get(i):
            print(i, "kept there" if i in a else "dropped there",
                  "kept here" if i in b else "dropped here",
                  repr(a.get(i, ""))[:200], repr(b.get(i, ""))[:200])
    print(len(a), "kept", sum(a.get(i) != b.get(i) for i in a.keys() | b.keys()),
          "different", file=sys.stderr)
    return a != b


if __name__ == "__main__":
    sys.exit({"make": make, "filter": filter_documents,
              "compare": compare}[sys.argv[1]](*sys.argv[2:]))
