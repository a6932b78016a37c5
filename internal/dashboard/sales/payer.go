package sales

import (
	"encoding/json"
	"strings"
)

// payer is who paid, as the billing details of the payment method say.
type payer struct {
	Name    string `json:"name"`
	Email   string `json:"email"`
	Phone   string `json:"phone"`
	Address struct {
		Line1      string `json:"line1"`
		Line2      string `json:"line2"`
		City       string `json:"city"`
		State      string `json:"state"`
		PostalCode string `json:"postal_code"`
		Country    string `json:"country"`
	} `json:"address"`
}

// Lines is the address, line by line.
func (p payer) Lines() (lines []string) {
	a := p.Address
	place := strings.Join(strings.Fields(a.City+" "+a.State+" "+a.PostalCode), " ")
	for _, line := range []string{a.Line1, a.Line2, place, a.Country} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// Payer is who paid, or who tried last.
func (p paymentDetail) Payer() (who payer) {
	_ = json.Unmarshal(p.Billing, &who) // details that cannot be read are shown as missing
	if who.Email == "" && p.ReceiptEmail != nil {
		who.Email = *p.ReceiptEmail
	}
	return who
}
