// Package raster draws the lab's pictures as PNG, for sites that show no SVG.
//
//	SVG of package page ──▶ shapes and lines of text ──▶ pixels
//
// It knows only the elements that these pictures have: rect, path of straight lines,
// circle, text, and groups that are moved.
package raster

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// Style is how the elements of a class look. A zero value comes from the element's other
// classes, of which the last in Styles counts.
type Style struct {
	Class  string // or an element's name
	Fill   string // such as "#504d45"
	Stroke string
	Width  float32 // of the stroke
	Size   float64 // of text
	Dashed bool
	Bold   bool
	Middle bool // text is centered
	Lines  bool // a path of this class is not filled
}

// Styles are a style sheet.
type Styles []Style

// of is the style of an element with some classes.
func (all Styles) of(element, classes string) (s Style) {
	names := strings.Fields(classes)
	for _, own := range all {
		if own.Class != element && !slices.Contains(names, own.Class) {
			continue
		}
		s.Fill, s.Stroke = cmp.Or(own.Fill, s.Fill), cmp.Or(own.Stroke, s.Stroke)
		s.Width, s.Size = cmp.Or(own.Width, s.Width), cmp.Or(own.Size, s.Size)
		s.Dashed, s.Bold = s.Dashed || own.Dashed, s.Bold || own.Bold
		s.Middle, s.Lines = s.Middle || own.Middle, s.Lines || own.Lines
	}
	if s.Lines && element == "path" {
		s.Fill = ""
	}
	return s
}

// CSS is the style sheet for a browser.
func (all Styles) CSS() string {
	var out strings.Builder
	for _, s := range all {
		name := "." + s.Class
		if s.Class == "text" {
			name = s.Class
		}
		out.WriteString(name + "{")
		for _, rule := range []struct {
			is   bool
			text string
		}{
			{s.Fill != "", "fill:" + s.Fill}, {s.Stroke != "", "stroke:" + s.Stroke},
			{s.Width != 0, fmt.Sprintf("stroke-width:%g", s.Width)},
			{s.Size != 0, fmt.Sprintf("font-size:%gpx", s.Size)},
			{s.Class == "text", "font-family:system-ui,sans-serif"},
			{s.Dashed, fmt.Sprintf("stroke-dasharray:%d %d", dash, gap)},
			{s.Bold, "font-weight:600"}, {s.Middle, "text-anchor:middle"},
		} {
			if rule.is {
				out.WriteString(rule.text + ";")
			}
		}
		out.WriteString("}")
		if s.Lines {
			out.WriteString("path" + name + "{fill:none}")
		}
	}
	return out.String()
}

// PNG draws a picture at a size in pixels and with so many colors, at most 256. The
// picture's view box has the same proportions.
func PNG(svg []byte, styles Styles, width, height, colors int) ([]byte, error) {
	c := &canvas{image: image.NewRGBA(image.Rect(0, 0, width, height)), styles: styles, scale: 1}
	if err := c.drawAll(xml.NewDecoder(bytes.NewReader(svg))); err != nil {
		return nil, fmt.Errorf("draw the picture: %w", err)
	}
	var out bytes.Buffer
	err := png.Encode(&out, fewColors(c.image, colors))
	return out.Bytes(), err
}

// fewColors is the picture in few colors, which take a fraction of the bytes. If it has
// more, similar ones become the most frequent of them: edges are a little coarser.
func fewColors(from *image.RGBA, most int) image.Image {
	counts := map[color.RGBA]int{}
	stretches(from, func(c color.RGBA, begin, end int) { counts[c] += end - begin })
	frequent := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	for bits := 8; ; bits-- {
		palette, kinds, mask := color.Palette{}, map[color.RGBA]uint8{}, uint8(0xff)<<(8-bits)
		kind := func(c color.RGBA) color.RGBA { return color.RGBA{c.R & mask, c.G & mask, c.B & mask, 0xff} }
		for _, c := range frequent {
			if _, is := kinds[kind(c)]; !is {
				kinds[kind(c)] = uint8(len(palette))
				palette = append(palette, c)
			}
		}
		if len(palette) > most {
			continue
		}
		to := image.NewPaletted(from.Rect, palette)
		stretches(from, func(c color.RGBA, begin, end int) {
			n := kinds[kind(c)]
			for i := begin; i < end; i++ {
				to.Pix[i] = n
			}
		})
		return to
	}
}

// stretches calls do for each stretch of pixels of one color.
func stretches(in *image.RGBA, do func(c color.RGBA, begin, end int)) {
	all := len(in.Pix) / 4
	at := func(i int) color.RGBA { return color.RGBA{in.Pix[4*i], in.Pix[4*i+1], in.Pix[4*i+2], 0xff} }
	for begin, end := 0, 0; begin < all; begin = end {
		for c := at(begin); end < all && at(end) == c; end++ {
		}
		do(at(begin), begin, end)
	}
}

type canvas struct {
	image  *image.RGBA
	styles Styles
	scale  float32
	moved  []point // by the groups around an element
}

type point struct{ x, y float32 }

// at is a place of the picture in pixels.
func (c *canvas) at(p point) point {
	for _, by := range c.moved {
		p.x, p.y = p.x+by.x, p.y+by.y
	}
	return point{p.x * c.scale, p.y * c.scale}
}

func (c *canvas) drawAll(tokens *xml.Decoder) error {
	var text *element
	for {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			e := newElement(t)
			if e.name == "text" {
				text = &e
			}
			err = c.begin(e)
		case xml.CharData:
			if text != nil {
				err = c.write(*text, string(t))
			}
		case xml.EndElement:
			text = nil
			if t.Name.Local == "g" {
				c.moved = c.moved[:len(c.moved)-1]
			}
		}
		if err != nil {
			return err
		}
	}
}

type element struct {
	name string
	attr map[string]string
}

func newElement(t xml.StartElement) element {
	e := element{t.Name.Local, map[string]string{}}
	for _, a := range t.Attr {
		e.attr[a.Name.Local] = a.Value
	}
	return e
}

// number is an attribute. A missing one is zero.
func (e element) number(name string) float32 {
	n, _ := strconv.ParseFloat(e.attr[name], 32)
	return float32(n)
}

func (c *canvas) begin(e element) error {
	style := c.styles.of(e.name, e.attr["class"])
	switch e.name {
	case "svg":
		if box := numbers(e.attr["viewBox"]); len(box) == 4 && box[2] > 0 {
			c.scale = float32(c.image.Rect.Dx()) / box[2]
		}
	case "g":
		by := point{}
		if to, is := strings.CutPrefix(e.attr["transform"], "translate("); is {
			n := numbers(strings.TrimSuffix(to, ")"))
			if len(n) != 2 {
				return fmt.Errorf("a group is moved by %q", to)
			}
			by = point{n[0], n[1]}
		}
		c.moved = append(c.moved, by)
	case "rect":
		w, h := e.number("width"), e.number("height")
		style.Fill = e.attr["fill"]
		c.fill([][]point{{{0, 0}, {w, 0}, {w, h}, {0, h}}}, style.Fill)
	case "circle":
		c.shape([][]point{circle(point{e.number("cx"), e.number("cy")}, e.number("r"))}, style)
	case "path":
		lines, err := path(e.attr["d"])
		if err != nil {
			return err
		}
		c.shape(lines, style)
	}
	return nil
}

func (c *canvas) shape(lines [][]point, s Style) {
	c.fill(lines, s.Fill)
	if s.Stroke == "" {
		return
	}
	width := max(1, s.Width)
	for _, line := range lines {
		for i := 1; i < len(line); i++ {
			c.stroke(line[i-1], line[i], width, s)
		}
	}
}

// Dashes and the gaps between them.
const dash, gap = 4, 3

func (c *canvas) stroke(from, to point, width float32, s Style) {
	dx, dy := to.x-from.x, to.y-from.y
	length := float32(math.Hypot(float64(dx), float64(dy)))
	if length == 0 {
		return
	}
	dx, dy = dx/length, dy/length
	step := length
	if s.Dashed {
		step = dash
	}
	for at := float32(0); at < length; at += step + gap {
		end := min(at+step, length)
		a, b := point{from.x + dx*at, from.y + dy*at}, point{from.x + dx*end, from.y + dy*end}
		nx, ny := -dy*width/2, dx*width/2
		c.fill([][]point{{{a.x + nx, a.y + ny}, {b.x + nx, b.y + ny}, {b.x - nx, b.y - ny}, {a.x - nx, a.y - ny}}},
			s.Stroke)
	}
}

func (c *canvas) fill(lines [][]point, name string) {
	of, is := parseColor(name)
	if !is {
		return
	}
	var pixels [][]point
	from, to := point{math.MaxFloat32, math.MaxFloat32}, point{}
	for _, line := range lines {
		var moved []point
		for _, p := range line {
			p = c.at(p)
			from, to = point{min(from.x, p.x), min(from.y, p.y)}, point{max(to.x, p.x), max(to.y, p.y)}
			moved = append(moved, p)
		}
		pixels = append(pixels, moved)
	}
	// the rasterizer takes as long as its image is large
	box := image.Rect(int(from.x), int(from.y), int(to.x)+1, int(to.y)+1).Intersect(c.image.Rect)
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	corner := point{float32(box.Min.X), float32(box.Min.Y)}
	for _, line := range pixels {
		for i, p := range line {
			if i == 0 {
				r.MoveTo(p.x-corner.x, p.y-corner.y)
			} else {
				r.LineTo(p.x-corner.x, p.y-corner.y)
			}
		}
		r.ClosePath()
	}
	r.Draw(c.image, box, image.NewUniform(of), image.Point{})
}

// parseColor reads a color such as "#504d45".
func parseColor(name string) (of color.RGBA, is bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(name, "#"), 16, 24)
	return color.RGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), 0xff}, err == nil && len(name) == len("#504d45")
}

func circle(center point, radius float32) (all []point) {
	const corners = 48
	for i := range corners + 1 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		all = append(all, point{center.x + radius*float32(cos), center.y + radius*float32(sin)})
	}
	return all
}

var fonts = sync.OnceValues(func() (all [2]*opentype.Font, err error) {
	for i, text := range [][]byte{goregular.TTF, gobold.TTF} {
		if all[i], err = opentype.Parse(text); err != nil {
			return all, err
		}
	}
	return all, nil
})

func (c *canvas) write(e element, text string) error {
	style := c.styles.of(e.name, e.attr["class"])
	of, is := parseColor(style.Fill)
	all, err := fonts()
	if err != nil || !is {
		return errors.Join(err, fmt.Errorf("text in the color %q", style.Fill))
	}
	use := all[0]
	if style.Bold {
		use = all[1]
	}
	face, err := opentype.NewFace(use, &opentype.FaceOptions{Size: style.Size * float64(c.scale), DPI: 72})
	if err != nil {
		return err
	}
	defer face.Close()
	d := font.Drawer{Dst: c.image, Src: image.NewUniform(of), Face: face}
	p := c.at(point{e.number("x"), e.number("y")})
	d.Dot = fixed.Point26_6{X: fixed.Int26_6(p.x * 64), Y: fixed.Int26_6(p.y * 64)}
	if style.Middle {
		d.Dot.X -= d.MeasureString(text) / 2
	}
	d.DrawString(text)
	return nil
}
