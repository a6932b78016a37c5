package raster_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/lab/raster"
)

var styles = raster.Styles{
	{Class: "text", Fill: "#000000", Size: 20},
	{Class: "middle", Middle: true},
	{Class: "box", Fill: "#00ff00"},
	{Class: "line", Fill: "#00ff00", Stroke: "#ff0000", Width: 4, Lines: true},
	{Class: "dashed", Dashed: true},
}

// drawn is a picture of 100 by 50, drawn at twice its size.
func drawn(t *testing.T, inner string) image.Image {
	t.Helper()
	svg := `<svg viewBox="0 0 100 50"><style>` + styles.CSS() + `</style>` +
		`<rect width="100" height="50" fill="#ffffff"/>` + inner + `</svg>`
	text, err := raster.PNG([]byte(svg), styles, 200, 100, 16)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

func at(picture image.Image, x, y int) string {
	r, g, b, _ := picture.At(2*x, 2*y).RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

func TestPNG(t *testing.T) {
	t.Parallel()
	const white, green, red = "#ffffff", "#00ff00", "#ff0000"
	for name, c := range map[string]struct {
		inner string
		want  map[[2]int]string
	}{
		"a shape is filled to its edges": {`<path class="box" d="M10 10h20v20h-20z"/>`,
			map[[2]int]string{{11, 11}: green, {29, 29}: green, {31, 15}: white, {9, 15}: white}},
		"places and distances without spaces between them": {`<path class="box" d="M10 10l20 0l0 20l-20 0l0-20z"/>`,
			map[[2]int]string{{20, 20}: green, {5, 5}: white}},
		"a line has its width, and is not filled": {`<path class="line" d="M10 20H90M10 40V30"/>`,
			map[[2]int]string{{50, 20}: red, {50, 21}: red, {50, 23}: white, {10, 35}: red, {10, 28}: white}},
		"a line is dashed": {`<path class="line dashed" d="M0 20H90"/>`,
			map[[2]int]string{{2, 20}: red, {5, 20}: white, {8, 20}: red, {12, 20}: white}},
		"a group is moved, and what follows it is not": {
			`<g transform="translate(40 -5)"><path class="box" d="M10 10h5v5h-5z"/></g>` +
				`<path class="box" d="M70 30h5v5h-5z"/>`,
			map[[2]int]string{{52, 7}: green, {12, 12}: white, {72, 32}: green}},
		"a circle is round": {`<circle class="box" cx="50" cy="25" r="10"/>`,
			map[[2]int]string{{50, 25}: green, {58, 25}: green, {58, 33}: white}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			picture := drawn(t, c.inner)
			for place, want := range c.want {
				if got := at(picture, place[0], place[1]); got != want {
					t.Errorf("%v is %s, want %s", place, got, want)
				}
			}
		})
	}

	t.Run("text is written from its place, or around it", func(t *testing.T) {
		t.Parallel()
		for class, wantLeft := range map[string]bool{"": false, "middle": true} {
			picture := drawn(t, `<text class="`+class+`" x="50" y="30">WW</text>`)
			left, right := 0, 0
			for x := range 100 {
				for y := range 50 {
					switch {
					case at(picture, x, y) == white:
					case x < 49:
						left++
					default:
						right++
					}
				}
			}
			if right == 0 || (left > 0) != wantLeft {
				t.Errorf("class %q: %d pixels left of its place, %d right of it", class, left, right)
			}
		}
	})

	t.Run("what it cannot draw is an error", func(t *testing.T) {
		t.Parallel()
		for _, inner := range []string{`<path d="M0 0C1 1 2 2 3 3"/>`, `<path d="M0"/>`, `<path d="L5 5"/>`,
			`<g transform="translate(5)"></g>`, `<g>`} {
			_, err := raster.PNG([]byte(`<svg viewBox="0 0 10 10">`+inner+`</svg>`), styles, 10, 10, 16)
			if err == nil {
				t.Errorf("%s was drawn", inner)
			}
		}
	})
}

func TestCSS(t *testing.T) {
	t.Parallel()
	css := styles.CSS()
	for _, rule := range []string{"text{fill:#000000;font-size:20px;", ".box{fill:#00ff00;}", "path.line{fill:none}",
		"stroke-dasharray:4 3;"} {
		if !strings.Contains(css, rule) {
			t.Errorf("%q is not in %s", rule, css)
		}
	}
}
