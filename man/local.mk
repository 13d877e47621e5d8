# manuals
