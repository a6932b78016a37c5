package docsite

import (
	"go/scanner"
	"go/token"
	"html"
	"html/template"
	"regexp"
	"strings"
)

// painter colors a text, line by line. What it is given is escaped.
type painter struct {
	lines []string
	line  strings.Builder
}

// paint adds a text in a class; "" is the color of the text around it. No element
// reaches over the end of a line.
func (p *painter) paint(class, text string) {
	for i, part := range strings.Split(text, "\n") {
		if i > 0 {
			p.lines = append(p.lines, p.line.String())
			p.line.Reset()
		}
		part = template.HTMLEscapeString(part)
		if class != "" && part != "" {
			part = `<span class="` + class + `">` + part + `</span>`
		}
		p.line.WriteString(part)
	}
}

// end returns the lines. A text that ends with a line break has no line behind it.
func (p *painter) end() []string {
	if p.line.Len() > 0 {
		p.lines = append(p.lines, p.line.String())
	}
	return p.lines
}

// highlight colors the lines of a file, by the ending of its name.
func highlight(ending, text string) []string {
	var p painter
	switch ending {
	case ".go":
		p.paintGo(text)
	case ".sql":
		p.paintSQL(text)
	default:
		p.paint("", text)
	}
	return p.end()
}

// paintGo colors Go, also if it is only a piece of a file.
func (p *painter) paintGo(text string) {
	source := []byte(text)
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, func(token.Position, string) {}, scanner.ScanComments)
	done := 0
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && literal == "\n" { // the scanner's own
			continue
		}
		if literal == "" {
			literal = tok.String()
		}
		at := file.Offset(pos)
		if at < done || at+len(literal) > len(text) {
			continue
		}
		p.paint("", text[done:at])
		done = at + len(literal)
		p.paint(classOf(tok), text[at:done])
	}
	p.paint("", text[done:])
}

func classOf(tok token.Token) string {
	switch {
	case tok == token.COMMENT:
		return "c"
	case tok.IsKeyword():
		return "k"
	case tok == token.STRING || tok == token.CHAR:
		return "s"
	case tok == token.INT || tok == token.FLOAT || tok == token.IMAG:
		return "n"
	}
	return ""
}

// The repository writes SQL's keywords in capitals, and nothing else.
var sqlToken = regexp.MustCompile(`(?s)(--[^\n]*|/\*.*?\*/)|('(?:[^']|'')*')|\b([A-Z]{2,})\b|\b(\d+)\b`)

func (p *painter) paintSQL(text string) {
	done := 0
	for _, at := range sqlToken.FindAllStringSubmatchIndex(text, -1) {
		p.paint("", text[done:at[0]])
		for i, class := range []string{"c", "s", "k", "n"} {
			if at[2*i+2] >= 0 {
				p.paint(class, text[at[0]:at[1]])
			}
		}
		done = at[1]
	}
	p.paint("", text[done:])
}

var codeBlock = regexp.MustCompile(`(?s)<code class="language-(go|sql)">(.*?)</code>`)

// color colors the blocks of code in a document.
func color(page string) string {
	return codeBlock.ReplaceAllStringFunc(page, func(block string) string {
		parts := codeBlock.FindStringSubmatch(block)
		lines := highlight("."+parts[1], html.UnescapeString(parts[2]))
		return "<code>" + strings.Join(lines, "\n") + "\n</code>"
	})
}
