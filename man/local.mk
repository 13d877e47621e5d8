# manuals
dist_man_MANS += %D%/gdata.1
dist_man_MANS += %D%/gplot.1
dist_man_MANS += %D%/gtrack.1
dist_man_MANS += %D%/gtrain.1 %D%/gtrain.ini.5
dist_man_MANS += %D%/gtrack-store.5 %D%/gtrack.3 %D%/gtrack-python.7
