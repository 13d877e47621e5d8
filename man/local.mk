# manuals
dist_man_MANS += %D%/gdata.1
