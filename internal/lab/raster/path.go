package raster

import (
	"fmt"
	"strconv"
	"strings"
)

// numbers are the numbers in a text such as "-4 -4" or "0 0 800 420".
func numbers(text string) (all []float32) {
	for _, word := range strings.Fields(strings.ReplaceAll(strings.ReplaceAll(text, ",", " "), "-", " -")) {
		n, err := strconv.ParseFloat(word, 32)
		if err != nil {
			return nil
		}
		all = append(all, float32(n))
	}
	return all
}

// path reads the straight lines of a path. A capital letter is followed by places, a small
// one by distances.
func path(d string) (lines [][]point, err error) {
	var at, began point
	for d != "" {
		command := d[0]
		end := strings.IndexAny(d[1:], "MmLlHhVvZz") + 1
		if end == 0 {
			end = len(d)
		}
		n := numbers(d[1:end])
		d = d[end:]
		switch want := arguments[command|0x20]; {
		case want == 0 && len(n) == 0:
			n = []float32{0} // z has none
		case want == 0 || len(n) == 0 || len(n)%want != 0:
			return nil, fmt.Errorf("%q with %d numbers in a path", command, len(n))
		}
		for len(n) > 0 {
			from := at
			if command < 'a' {
				from = point{}
			}
			switch command | 0x20 {
			case 'm', 'l':
				at = point{from.x + n[0], from.y + n[1]}
				n = n[1:]
			case 'h':
				at.x = from.x + n[0]
			case 'v':
				at.y = from.y + n[0]
			case 'z':
				at = began
			}
			n = n[1:]
			if command|0x20 == 'm' {
				began = at
				lines = append(lines, nil)
			}
			if len(lines) == 0 {
				return nil, fmt.Errorf("a path begins with %q", command)
			}
			lines[len(lines)-1] = append(lines[len(lines)-1], at)
		}
	}
	return lines, nil
}

// arguments is how many numbers a command takes.
var arguments = map[byte]int{'m': 2, 'l': 2, 'h': 1, 'v': 1}
