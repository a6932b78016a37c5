package page

import (
	"fmt"
	"html/template"
	"strings"
)

// pictureStyle colors a picture that is shown without the site's style sheet.
const pictureStyle = `<style>text{font:13px system-ui,sans-serif;fill:#504d45}` +
	`.big{font:600 30px Georgia,serif;fill:#1b1c19}.mid{font-size:17px}` +
	`.row{stroke:#8d8778}.at{text-anchor:middle;font-size:11px}` +
	`.life{stroke:#0b6455;stroke-width:3}.call{stroke:#28568f;stroke-width:2}` +
	`.answer{stroke-dasharray:4 3}.step{fill:#0b6455}` +
	`.charge,.bad{fill:#fbe4e0;stroke:#a3261c;stroke-width:2}path.bad,path.warn{fill:none}` +
	`.good{fill:#e0f1e4;stroke:#1a6a39;stroke-width:2}.warn{fill:#faecce;stroke:#7d4b00;stroke-width:2}` +
	`.ring{fill:#fffefa;stroke:#0b6455;stroke-width:2}.sum{text-anchor:middle;fill:#a3261c}</style>`

// picture is a run as an image for previews.
func picture(l Lane) []byte {
	drawn := string(l.Figure)
	inner := drawn[strings.Index(drawn, ">")+1 : len(drawn)-len("</svg>")]
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 418">%s`+
		`<rect width="800" height="418" fill="#f6f4ee"/>`+
		`<text class="big" x="40" y="72">%s</text><text class="mid" x="40" y="106">%s: %s</text>`+
		`<g transform="translate(40 150)">%s</g></svg>`,
		pictureStyle, template.HTMLEscapeString(l.Run.Title()), template.HTMLEscapeString(l.Design.Title),
		template.HTMLEscapeString(l.Fault.Title), inner)
}
