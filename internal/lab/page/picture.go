package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/raster"
)

// The size of a picture, in the proportions that sites want of a preview. As PNG it has
// half as many pixels again.
const (
	pictureWidth, pictureHeight = 800, 420
	pngWidth, pngHeight         = 1200, 630
)

// pictureStyles color a picture that is shown without the site's style sheet.
var pictureStyles = raster.Styles{
	{Class: "text", Fill: "#504d45", Size: 13},
	{Class: "big", Fill: "#1b1c19", Size: 30, Bold: true},
	{Class: "mid", Size: 17},
	{Class: "row", Stroke: "#8d8778"},
	{Class: "at", Size: 11, Middle: true},
	{Class: "life", Stroke: "#0b6455", Width: 3, Lines: true},
	{Class: "call", Stroke: "#28568f", Width: 2, Lines: true},
	{Class: "answer", Dashed: true},
	{Class: "step", Fill: "#0b6455"},
	{Class: "charge", Fill: "#fbe4e0", Stroke: "#a3261c", Width: 2},
	{Class: "bad", Fill: "#fbe4e0", Stroke: "#a3261c", Width: 2, Lines: true},
	{Class: "good", Fill: "#e0f1e4", Stroke: "#1a6a39", Width: 2},
	{Class: "warn", Fill: "#faecce", Stroke: "#7d4b00", Width: 2, Lines: true},
	{Class: "ring", Fill: "#fffefa", Stroke: "#0b6455", Width: 2},
	{Class: "sum", Fill: "#a3261c", Middle: true},
	{Class: "cell-good", Fill: "#b9dcc3"},
	{Class: "cell-warn", Fill: "#f0c66a"},
	{Class: "cell-bad", Fill: "#c4483b"},
	{Class: "middle", Middle: true},
	{Class: "choice", Fill: "#fffefa", Stroke: "#0b6455", Width: 2},
}

// picture is a run as an image for previews.
func picture(l Lane) []byte {
	drawn := string(l.Figure)
	inner := drawn[strings.Index(drawn, ">")+1 : len(drawn)-len("</svg>")]
	return canvas(fmt.Sprintf(
		`<text class="big" x="40" y="72">%s</text><text class="mid" x="40" y="106">%s: %s</text>`+
			`<g transform="translate(40 150)">%s</g>`,
		template.HTMLEscapeString(l.Run.Title()), template.HTMLEscapeString(l.Design.Title),
		template.HTMLEscapeString(l.Fault.Title), inner))
}

// questionPicture is a stop as an image. It does not tell the answer.
func questionPicture(s Stop) []byte {
	var inner strings.Builder
	fmt.Fprintf(&inner, `<text class="mid" x="40" y="64">The crash lab · stop %d of %d</text>`, s.Number, len(Stops))
	for n, line := range wrapped(s.Question, pictureLine) {
		fmt.Fprintf(&inner, `<text class="big" x="40" y="%d">%s</text>`, 124+44*n, template.HTMLEscapeString(line))
	}
	for n, choice := range answers {
		fmt.Fprintf(&inner, `<g transform="translate(%d 310)"><path class="choice" d="M0 0h110v56h-110z"/>`+
			`<text class="big middle" x="55" y="38">%s</text></g>`, 40+126*n, choice)
	}
	return canvas(inner.String())
}

// matrixPicture is the matrix as an image: a square for each run, in the color of its verdict.
func (p *Pages) matrixPicture() []byte {
	var inner strings.Builder
	inner.WriteString(`<text class="big" x="40" y="72">Our books say 1, the bank says 2.</text>` +
		`<text class="mid" x="40" y="106">Every payment design, under every fault. The last column is Ratchet.</text>`)
	const width, height = 72, 22
	for row, f := range servers(lab.Faults, func(f lab.Fault) bool { return f.Queue }) {
		for column, d := range servers(lab.Designs, func(d lab.Design) bool { return d.Queue }) {
			run, _ := p.matrix.Find(d.Name, f.Name)
			fmt.Fprintf(&inner, `<path class="cell-%s" d="M%d %dh%dv%dh-%dz"/>`, badges[run.Verdict()].Tone,
				40+width*column, 136+height*row, width-4, height-4, width-4)
		}
	}
	return canvas(inner.String())
}

func servers[T any](all []T, queue func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), queue)
}

// pictureLine is how many letters fit on a line of the largest type.
const pictureLine = 42

// wrapped is a text in lines.
func wrapped(text string, length int) (lines []string) {
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		if last < 0 || len(lines[last])+1+len(word) > length {
			lines = append(lines, word)
			continue
		}
		lines[last] += " " + word
	}
	return lines
}

func canvas(inner string) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"><style>%s</style>`+
		`<rect width="%d" height="%d" fill="#f6f4ee"/>%s</svg>`,
		pictureWidth, pictureHeight, pictureStyles.CSS(), pictureWidth, pictureHeight, inner)
}

// asPNG is a picture for sites that show no SVG, which are most.
func asPNG(svg []byte, colors int) ([]byte, error) {
	return raster.PNG(svg, pictureStyles, pngWidth, pngHeight, colors)
}

// A question has two colors and their shades. A run has more.
const allColors, fewColors = 256, 16
