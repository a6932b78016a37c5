package login

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// qrCode is a QR code as the path of an SVG drawing, with the four light modules around it that readers need.
type qrCode struct {
	Size int
	Path string
}

const quietZone = 4

func newQRCode(text string) (qrCode, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return qrCode{}, fmt.Errorf("draw a QR code: %w", err)
	}
	var path strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+quietZone, y+quietZone)
			}
		}
	}
	return qrCode{code.Size + 2*quietZone, path.String()}, nil
}
