# pictures.py - draw the pictures of doc/gallery/page
#
# usage: pictures.py FOLDER OUT
#
# FOLDER has the runs of doc/tutorial.md.  In the build folder:
#
#     GT_LONG=1 GT_PICTURES=1 prove ../t/train/t4050-tutorial.t
import os
import sys
import urllib.parse

from browser import Browser, Server, gtrack, ids_of

folder, out = sys.argv[1:3]
os.environ["GTRACK_ROOT"] = "mlruns"
RATES = ids_of(folder, "lr-1e-3", "lr-3e-3", "lr-1e-2")
GRID = gtrack(folder, "ls", "--sweep", "grid", "-c", "id", "--tsv",
              "--no-header").split()
READY = "document.querySelector('{}') && !document.querySelector('[aria-busy]')"

# The name of the picture, the size of the window, the state of the page, what
# must be there, and where the pointer is.
PICTURES = (
    ("runs", (1280, 620), {"filter": "name like 'grid-%'",
                           "sort": "metrics.val/loss",
                           "runs": ",".join(GRID[:2]),
                           "columns": "name,width,lr,val/loss,steps,started",
                           "baseline": GRID[0]}, ".runs tbody a", None),
    ("charts", (1280, 860), {"view": "charts", "runs": RATES},
     ".over[aria-label]", (0.55, 0.5)),
    ("dark", (1280, 760), {"view": "charts", "runs": RATES, "theme": "dark",
                           "chart": "kind:loss", "smooth": "ema:0.95",
                           "from": 300},
     ".over[aria-label]", (0.5, 0.5)),
    ("phone", (390, 844), {"view": "charts", "runs": RATES},
     ".over[aria-label]", None),
)


def draw(server, name, size, state, ready, pointer):
    with Browser(*size) as b:
        b.open(server.url)
        b.open(server.base + "#" + urllib.parse.urlencode(state, safe=",/:"))
        b.wait(READY.format(ready))
        if pointer:
            b.pointer("canvas.over", pointer)
            b.wait("document.querySelector('.tip:not([hidden])')")
        b.picture(os.path.join(out, f"{name}.png"))


server = Server(folder)
for picture in PICTURES:
    draw(server, *picture)
server.end()
