"""Words about a picture as a page that needs nothing else: point at a word, or go to it by key, and see its map.

The picture stands in the page once, and each map as a small picture; the browser lays one over the other. Without
JavaScript all maps are there, side by side.
"""

import base64
import html
import io

import numpy as np

from weft.domains.captions.views.inside import Box
from weft.domains.captions.views.words import PictureSentence, PictureWords
from weft.domains.captions.views.words_sheet import EMPTY, METHOD, facts, in_boxes, percent
from weft.inspect import maps
from weft.inspect.figures import coloured, png_of, writable
from weft.inspect.views import ALL, AttentionChoice, page

MOST_PIXELS = 640  # of a side of the picture
HEAT_PIXELS = 96  # of the longer side of a map, which the browser enlarges
QUALITY, MOST_PNG = 88, 60_000  # of a JPEG, and bytes of a PNG in the place of which one is taken
HINT = "Point at a word, or go from word to word with the arrow keys; Esc takes the colours away."

STYLE = """
.pair{display:flex;flex-wrap:wrap;gap:.8rem;margin:0 0 .6rem}.pair>div{flex:1 1 15rem;max-width:26rem}
.photo,.lit{position:relative;overflow:hidden;isolation:isolate;background:#000 center/100% 100%}
.photo{background-image:var(--photo)}.stage{display:none}
.grey{position:absolute;inset:0;background:var(--grey) center/100% 100%;filter:brightness(.43)}
.lit img{position:absolute;inset:0;width:100%;height:100%;mix-blend-mode:screen;filter:brightness(.72)}
.box{position:absolute;border:2px solid #fff;outline:1px solid #0a1a33}
.text{font-size:1.25rem;margin:.2rem 0;line-height:1.9}
.text small{color:#6b7785;font-size:.8rem;margin-right:.5rem}
.word{font:inherit;color:inherit;background:none;border:0;border-bottom:2px solid #c5ced8;border-radius:.2rem .2rem 0 0;
 padding:0 .15rem;cursor:pointer}
.word:focus-visible{outline:2px solid #1c5b9e;outline-offset:2px}
.word[aria-pressed=true]{background:#ffd58a;border-color:#ee7733}
.facts,.says,figcaption{color:#6b7785;font-size:.85rem}.says{min-height:1.5em;margin:.2rem 0}
.all{display:grid;grid-template-columns:repeat(auto-fill,minmax(8.5rem,1fr));gap:.8rem;margin:.4rem 0 1rem}
.all figure{margin:0;cursor:pointer}figcaption b{color:#1b2733;font-weight:500}
.live .stage{display:block}#play{display:none;font:inherit;padding:.1rem .7rem}.live #play{display:inline-block}
"""

SCRIPT = """
const words=[...document.querySelectorAll('.word')],figures=[...document.querySelectorAll('figure[data-word]')];
const stage=document.querySelector('.stage'),says=document.querySelector('.says');let timer=0;
function show(n){
 const parts=[...figures[Math.max(n,0)].querySelector('.lit').children].map(one=>one.cloneNode(true));
 stage.replaceChildren(...(n<0?parts.slice(0,1):parts));
 words.forEach((word,k)=>word.setAttribute('aria-pressed',k===n));
 says.textContent=n<0?says.dataset.first:figures[n].dataset.says;
}
function stop(){clearInterval(timer);timer=0;play.textContent='Play'}
const play=document.getElementById('play');
play.onclick=()=>{if(timer){stop();return}let n=0;show(0);play.textContent='Stop';
 timer=setInterval(()=>{n+=1;if(n<words.length)show(n);else{stop();show(-1)}},700)};
words.forEach((word,n)=>{
 word.onmouseenter=word.onfocus=word.onclick=()=>{stop();show(n)};
 figures[n].onclick=()=>{stop();show(n);stage.scrollIntoView({block:'nearest'})};
});
document.addEventListener('keydown',event=>{
 const at=words.indexOf(document.activeElement),step={ArrowRight:1,ArrowLeft:-1}[event.key];
 if(step&&at>=0){words[Math.min(Math.max(at+step,0),words.length-1)].focus();event.preventDefault()}
 if(event.key==='Escape'){stop();show(-1)}
});
document.body.classList.add('live');show(0);says.textContent=says.dataset.first;
"""


def words_page(shown: PictureWords, choice: AttentionChoice = ALL) -> bytes:
    """The page, with the maps of the chosen layers and heads."""
    title = " – ".join(sentence.text for sentence in shown.sentences if sentence.text) or EMPTY
    body = [f"<style>{STYLE}{_pictures(shown.pixels)}</style>"]
    body.append(f'<p class="facts">{_escaped(facts(shown, choice))}</p>')
    if not any(sentence.words for sentence in shown.sentences):
        return page(title, "".join([*body, '<div class="pair"><div class="photo"></div></div>']))
    body.append('<div class="pair"><div class="photo"></div><div class="stage lit"></div></div>')
    body += [_buttons(sentence, len(shown.sentences) > 1) for sentence in shown.sentences]
    if not shown.last.words:
        body.append(f"<p>{EMPTY}</p>")
    body.append(f'<p class="says" aria-live="polite" data-first="{HINT}"></p>')
    body.append('<button id="play" type="button">Play</button>')
    rows, columns = shown.last.weights.shape[3:]
    body.append(f'<p class="facts">{METHOD[shown.by].in_words(rows * columns)}</p>')
    for sentence in shown.sentences:
        body.append(f'<div class="all">{"".join(_figures(shown, sentence, sentence.maps(choice)))}</div>')
    return page(writable(title), "".join([*body, f"<script>{SCRIPT}</script>"]))


def _pictures(pixels: np.ndarray) -> str:
    """The picture in colours and in grey, and its shape, as a style."""
    height, width = pixels.shape[:2]
    shades = np.round(255 * maps.grey(coloured(pixels))).astype(np.uint8)
    sources = f"--photo:url({_photo(pixels)});--grey:url({_photo(shades[..., None])})"
    return f":root{{{sources}}}.photo,.lit{{aspect-ratio:{width}/{height}}}"


def _buttons(sentence: PictureSentence, named: bool) -> str:
    """The words of a text, each to be pointed at."""
    found = [f"<small>{_escaped(sentence.name)}</small>"] if named else []
    for word, spaced in zip(sentence.words, sentence.spaced(), strict=True):
        found.append(f'{" " * spaced}<button type="button" class="word" aria-pressed="false">{_escaped(word)}</button>')
    return f'<p class="text" dir="auto">{"".join(found)}</p>'


def _figures(shown: PictureWords, sentence: PictureSentence, all_maps: np.ndarray) -> list[str]:
    """For each word the picture in grey under its map, with its box, and what is said of it."""
    found = []
    for word, map, boxes in zip(sentence.words, all_maps, sentence.boxes, strict=True):
        name, most = _escaped(word), percent(map.max())
        layers = ['<div class="grey"></div>', f'<img alt="map of {name}" src="{_heat(map, shown.pixels)}">']
        told = f"{name}: {most} at the brightest part"
        layers += [f'<div class="box" style="{_sides(box)}"></div>' for box in boxes]
        told += f"; {in_boxes(map, boxes)}" if boxes else ""
        caption = f"<figcaption><b>{name}</b> {most}</figcaption>"
        found.append(f'<figure data-word data-says="{told}">{caption}<div class="lit">{"".join(layers)}</div></figure>')
    return found


def _sides(box: Box) -> str:
    top, left, bottom, right = (100 * float(side) for side in box)
    return f"top:{top:.2f}%;left:{left:.2f}%;height:{bottom - top:.2f}%;width:{right - left:.2f}%"


def _heat(map: np.ndarray, pixels: np.ndarray) -> str:
    """A map as a small picture, for an address within the page."""
    height, width = pixels.shape[:2]
    scale = HEAT_PIXELS / max(height, width)
    heat = maps.heat(map, max(round(height * scale), 1), max(round(width * scale), 1))
    return _data("png", png_of(np.round(heat * 255).astype(np.uint8)))


def _photo(pixels: np.ndarray) -> str:
    """The picture, not larger than needed: a PNG, or a JPEG where that would be large."""
    from PIL import Image

    picture = Image.fromarray(np.ascontiguousarray(coloured(pixels)))
    picture.thumbnail((MOST_PIXELS, MOST_PIXELS))
    content = png_of(np.asarray(picture))
    if len(content) <= MOST_PNG:
        return _data("png", content)
    buffer = io.BytesIO()
    picture.save(buffer, "jpeg", quality=QUALITY)
    return _data("jpeg", buffer.getvalue())


def _data(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _escaped(text: str) -> str:
    return html.escape(writable(text))
