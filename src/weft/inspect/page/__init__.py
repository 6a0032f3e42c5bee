"""The page that every look is: hand-written modules, joined into one file that needs nothing else.

joined        the one file: modules in order, styles, a document and what is read without JavaScript
page.css      styles, light and dark, wide and narrow
lit-html.js   templates (lit-html 3.3.3, BSD 3-Clause, lit-html.LICENSE); all other modules are written here
main.js       draws the page anew whenever what is picked changes
state.js      what is picked, in the address; keys
data.js       the document: weights of heads out of their bytes, rows, columns, temperature
colours.js    scales and colours, light and dark
heads.js      the grid of heads
tokens.js     groups of tokens to point at
matrix.js     text scene: matrix and lines; tree scene: the tree above the matrix
picture.js    picture scene: a map over a picture
graph.js      graph scene: nodes, edges and what one node reads
globe.js      globe scene: a map, flat or as a globe
follow.js     a token through the layers: lens, additions, steps
changes.js    sweeps (switched off, pinned, not read, patched, steered), each cell before and after; changed answers
compare.js    a second document beside the first
tables.js     the numbers of what is shown
save.js       PNG, SVG, PDF and JSON of what is shown
"""
