package checkout

import (
	"slices"

	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// The drawer below the form offers test cards. They are the ones of
// internal/testcard: what each is called there decides what it does.

type cardGroup struct {
	Title string
	Cards []offered
}

type offered struct{ Does, Number, CVC string }

func group(title string, cards ...[2]string) (g cardGroup) {
	g.Title = title
	for _, c := range cards {
		card, known := testcard.ByName(c[1])
		if !known {
			panic("there is no test card " + c[1])
		}
		g.Cards = append(g.Cards, offered{c[0], grouped(card.Number()), "1234"[:card.CVCLength]})
	}
	return g
}

// grouped writes a number in groups, as it is printed on the card.
func grouped(number string) (text string) {
	gaps := []int{4, 8, 12}
	if len(number) < 16 {
		gaps = []int{4, 10}
	}
	for i, digit := range number {
		if slices.Contains(gaps, i) {
			text += " "
		}
		text += string(digit)
	}
	return text
}

var cardGroups = []cardGroup{
	group("Succeeds", [2]string{"Visa", "visa"}, [2]string{"Mastercard", "mastercard"},
		[2]string{"American Express", "amex"}),
	group("Requires authentication", [2]string{"3-D Secure", "threeDSecure2Required"},
		[2]string{"3-D Secure, then declined", "threeDSecureRequiredChargeDeclined"}),
	group("Declined", [2]string{"Declined", "visa_chargeDeclined"},
		[2]string{"Insufficient funds", "visa_chargeDeclinedInsufficientFunds"},
		[2]string{"Wrong security code", "chargeDeclinedIncorrectCvc"},
		[2]string{"Expired", "chargeDeclinedExpiredCard"}),
}

// bankFault is what a demo can ask of the acquirer: how it is asked, and what a
// person reads.
type bankFault struct{ Value, Text string }

type bankFaults []bankFault

var injectable = bankFaults{
	{slowest, "The bank takes 8 seconds to respond"},
	{"drop_after_acting", "The card is charged, but the response is lost"},
	{"fail_before_acting", "The bank is down for the first try"},
}

func (l bankFaults) offer(value string) bool {
	return slices.ContainsFunc(l, func(f bankFault) bool { return f.Value == value })
}
