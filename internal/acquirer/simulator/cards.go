package simulator

import (
	"fmt"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/id"
)

// card is how one of Stripe's test cards behaves. The zero card approves everything.
type card struct {
	authentication authentication
	decline        *decline
	verifies       bool   // it can be saved, even if its charges fail
	risk           string // "" is normal

	cvcCheck, addressLine1Check, postalCodeCheck string // "" keeps the default

	refundStatus, refundBecomes string // "" is succeeded, for good

	complaints []complaint // what its holder says, shortly after the money was taken
}

// authentication says when the issuer insists on 3-D Secure.
type authentication int

const (
	neverNeeded authentication = iota
	alwaysNeeded
	neededOnSession   // set up for off-session use before
	neededUnlessSetUp // set-up asks for it, and payments in the cardholder's absence do not after that
)

type decline struct{ code, declineCode, adviceCode, param, message string }

var (
	genericDecline    = &decline{"card_declined", "generic_decline", "try_again_later", "", "Your card was declined."}
	insufficientFunds = &decline{"card_declined", "insufficient_funds", "try_again_later", "",
		"Your card has insufficient funds."}
	lostCard    = &decline{"card_declined", "lost_card", "do_not_try_again", "", "Your card was declined."}
	stolenCard  = &decline{"card_declined", "stolen_card", "do_not_try_again", "", "Your card was declined."}
	expiredCard = &decline{"expired_card", "expired_card", "confirm_card_data", "exp_month",
		"Your card has expired."}
	incorrectCVC = &decline{"incorrect_cvc", "incorrect_cvc", "confirm_card_data", "cvc",
		"Your card's security code is incorrect."}
	processingError = &decline{"processing_error", "processing_error", "try_again_later", "",
		"An error occurred while processing your card. Try again in a little bit."}
	velocityExceeded = &decline{"card_declined", "card_velocity_exceeded", "", "",
		"Your card was declined for making repeated attempts too frequently or exceeding its amount limit."}
	blockedAsFraud       = &decline{"card_declined", "fraudulent", "", "", "Your card was declined."}
	authenticationNeeded = &decline{acquirer.CodeAuthenticationNeeded, "authentication_required", "", "",
		"Your card was declined. This transaction requires authentication."}
)

// cards are Stripe's magic tokens without "tok_". Those that only differ in what
// happens later (disputes, when funds become available) are approved like any other.
var cards = map[string]card{
	"visa":               {},
	"visa_debit":         {},
	"mastercard":         {},
	"mastercard_debit":   {},
	"mastercard_prepaid": {},
	"amex":               {},
	"discover":           {},
	"diners":             {},
	"jcb":                {},
	"unionpay":           {},

	"chargeDeclined":                      {decline: genericDecline},
	"chargeDeclinedInsufficientFunds":     {decline: insufficientFunds},
	"chargeDeclinedLostCard":              {decline: lostCard},
	"chargeDeclinedStolenCard":            {decline: stolenCard},
	"chargeDeclinedExpiredCard":           {decline: expiredCard},
	"chargeDeclinedIncorrectCvc":          {decline: incorrectCVC, cvcCheck: "fail"},
	"chargeDeclinedProcessingError":       {decline: processingError},
	"chargeDeclinedVelocityLimitExceeded": {decline: velocityExceeded},
	"chargeCustomerFail":                  {decline: genericDecline, verifies: true},

	"radarBlock":               {decline: blockedAsFraud, risk: "highest", verifies: true},
	"chargeDeclinedFraudulent": {decline: blockedAsFraud, risk: "highest", verifies: true},
	"riskLevelHighest":         {decline: blockedAsFraud, risk: "highest", verifies: true},
	"riskLevelElevated":        {risk: "elevated"},

	"cvcCheckFail": {cvcCheck: "fail"},
	"avsZipFail":   {addressLine1Check: "pass", postalCodeCheck: "fail"},
	"avsLine1Fail": {addressLine1Check: "fail", postalCodeCheck: "pass"},
	"avsFail":      {addressLine1Check: "fail", postalCodeCheck: "fail"},
	"avsUnchecked": {addressLine1Check: "unchecked", postalCodeCheck: "unchecked"},

	"createDispute":                   {complaints: []complaint{fraudulent}},
	"createDisputeProductNotReceived": {complaints: []complaint{notReceived}},
	"createDisputeInquiry":            {complaints: []complaint{inquiry}},
	"createIssuerFraudRecord":         {},
	"createMultipleDisputes":          {complaints: []complaint{fraudulent, notReceived}},
	"createCe3EligibleDispute":        {complaints: []complaint{fraudulentAgain}},
	"createComplianceDispute":         {complaints: []complaint{nonCompliant}},
	"bypassPending":                   {},
	"bypassPendingInternational":      {},

	"pendingRefund": {refundStatus: "pending", refundBecomes: "succeeded"},
	"refundFail":    {refundStatus: "succeeded", refundBecomes: "failed"},

	"authenticationRequired":                                {authentication: alwaysNeeded},
	"authenticationRequiredOnSetup":                         {authentication: neededUnlessSetUp},
	"authenticationRequiredSetupForOffSession":              {authentication: neededOnSession},
	"authenticationRequiredChargeDeclinedInsufficientFunds": {authentication: alwaysNeeded, decline: insufficientFunds},
	"threeDSecure2Required":                                 {authentication: alwaysNeeded},
	"threeDSecureRequired":                                  {authentication: alwaysNeeded},
	"threeDSecureRequiredChargeDeclined":                    {authentication: alwaysNeeded, decline: genericDecline},
	"threeDSecureRequiredProcessingError":                   {authentication: alwaysNeeded, decline: processingError},
	"threeDSecureOptional":                                  {},
	"amex_threeDSecureNotSupported":                         {},
}

// cardNamed also knows the tokens that carry their brand, such as
// "visa_chargeDeclined". An unknown card is declined.
func cardNamed(name string) card {
	known, ok := cards[name]
	if !ok {
		known, ok = cards[strings.TrimPrefix(name, "visa_")]
	}
	if !ok {
		return card{decline: genericDecline}
	}
	return known
}

func (c card) needsAuthentication(order acquirer.Order) bool {
	switch {
	case order.Authenticated:
		return false
	case order.Challenge:
		return true
	case c.authentication == neededOnSession:
		return !order.OffSession
	case c.authentication == neededUnlessSetUp:
		return !order.OffSession || !order.SetUp
	default:
		return c.authentication == alwaysNeeded
	}
}

// authorize is what the issuer answers, still without a reference.
func (c card) authorize(order acquirer.Order) acquirer.Result {
	answer := acquirer.Result{
		Amount:            order.Amount,
		Currency:          order.Currency,
		RiskLevel:         "normal",
		RiskScore:         12,
		CVCCheck:          "pass",
		AddressLine1Check: c.addressLine1Check,
		PostalCodeCheck:   c.postalCodeCheck,
	}
	if c.cvcCheck != "" {
		answer.CVCCheck = c.cvcCheck
	}
	switch c.risk {
	case "elevated":
		answer.RiskLevel, answer.RiskScore = "elevated", 68
	case "highest":
		answer.RiskLevel, answer.RiskScore = "highest", 92
	}
	switch {
	case c.needsAuthentication(order):
		authenticationNeeded.declineWith(&answer)
	case c.decline != nil:
		c.decline.declineWith(&answer)
	default:
		approve(&answer)
	}
	return answer
}

// verify is what the issuer answers about a card when no money is asked for. A
// card that is kept without being set up is not authenticated.
func (c card) verify(order acquirer.Order) acquirer.Result {
	answer := c.authorize(order)
	if c.verifies || !order.SetUp && answer.Code == acquirer.CodeAuthenticationNeeded {
		answer = card{cvcCheck: c.cvcCheck}.authorize(order)
	}
	return answer
}

func approve(answer *acquirer.Result) {
	answer.Approved = true
	answer.AuthorizationCode = strings.ToUpper(id.Random(6))
	answer.NetworkStatus = "approved_by_network"
	answer.Outcome = "authorized"
	answer.SellerMessage = "Payment complete."
	if answer.RiskLevel == "elevated" {
		answer.Outcome = "manual_review"
		answer.Reason = "elevated_risk_level"
		answer.SellerMessage = "Stripe evaluated this payment as having elevated risk, and placed it in your manual " +
			"review queue."
	}
}

func (d *decline) declineWith(answer *acquirer.Result) {
	answer.Code, answer.DeclineCode, answer.AdviceCode = d.code, d.declineCode, d.adviceCode
	answer.Param, answer.Message = d.param, d.message
	if d == blockedAsFraud {
		answer.NetworkStatus = "not_sent_to_network"
		answer.Outcome = "blocked"
		answer.Reason = "highest_risk_level"
		answer.SellerMessage = "Stripe blocked this payment."
		return
	}
	answer.NetworkStatus = "declined_by_network"
	answer.Outcome = "issuer_declined"
	answer.Reason = d.declineCode
	answer.SellerMessage = fmt.Sprintf("The bank returned the decline code `%s`.", d.declineCode)
	if d == genericDecline {
		answer.SellerMessage = "The bank did not return any further details with this decline."
	}
}
