package testcard

// The brand on the card, in the spelling of a payment method and of a legacy card.
var (
	visa       = brand{"visa", "Visa"}
	mastercard = brand{"mastercard", "MasterCard"}
	amex       = brand{"amex", "American Express"}
	discover   = brand{"discover", "Discover"}
	diners     = brand{"diners", "Diners Club"}
	jcb        = brand{"jcb", "JCB"}
	unionpay   = brand{"unionpay", "UnionPay"}
)

const (
	credit  = "credit"
	debit   = "debit"
	prepaid = "prepaid"
)

// row is a line of the table. The first name is the card's own; with the others
// it can be called too. Every number of a row is a separate card that behaves
// like the rest of the row; a name means the first.
type row struct {
	numbers string
	names   string
	brand   brand
	funding string
	country string
}

// table holds Stripe's published test cards, which no bank has issued. It is the
// only place where their numbers stand. How a card behaves is the acquirer's
// business, which knows it by name.
var table = []row{
	// These succeed.
	{"4242424242424242", "visa", visa, credit, "US"},
	{"4000056655665556", "visa_debit", visa, debit, "US"},
	{"5555555555554444 2223003122003222", "mastercard", mastercard, credit, "US"},
	{"5200828282828210", "mastercard_debit", mastercard, debit, "US"},
	{"5105105105105100", "mastercard_prepaid", mastercard, prepaid, "US"},
	{"378282246310005 371449635398431", "amex amex_threeDSecureNotSupported", amex, credit, "US"},
	{"6011111111111117 6011000990139424", "discover", discover, credit, "US"},
	{"3056930009020004 36227206271667", "diners", diners, credit, "US"},
	{"3566002020360505", "jcb", jcb, credit, "JP"},
	{"6200000000000005", "unionpay", unionpay, credit, "CN"},

	// These are declined.
	{"4000000000000002", "visa_chargeDeclined chargeDeclined", visa, credit, "US"},
	{"4000000000009995", "visa_chargeDeclinedInsufficientFunds chargeDeclinedInsufficientFunds", visa, credit, "US"},
	{"4000000000009987", "visa_chargeDeclinedLostCard chargeDeclinedLostCard", visa, credit, "US"},
	{"4000000000009979", "visa_chargeDeclinedStolenCard chargeDeclinedStolenCard", visa, credit, "US"},
	{"4000000000000069", "chargeDeclinedExpiredCard visa_chargeDeclinedExpiredCard", visa, credit, "US"},
	{"4000000000000127", "chargeDeclinedIncorrectCvc visa_chargeDeclinedIncorrectCvc", visa, credit, "US"},
	{"4000000000000119", "chargeDeclinedProcessingError visa_chargeDeclinedProcessingError", visa, credit, "US"},
	{"4000000000006975", "visa_chargeDeclinedVelocityLimitExceeded chargeDeclinedVelocityLimitExceeded", visa, credit,
		"US"},
	{"4000000000000341", "chargeCustomerFail", visa, credit, "US"}, // can be attached; every charge fails

	// Fraud prevention has an opinion on these.
	{"4100000000000019", "radarBlock chargeDeclinedFraudulent", visa, credit, "US"},
	{"4000000000004954", "riskLevelHighest", visa, credit, "US"},
	{"4000000000009235", "riskLevelElevated", visa, credit, "US"},
	{"4000000000000101", "cvcCheckFail", visa, credit, "US"},
	{"4000000000000036", "avsZipFail", visa, credit, "US"},
	{"4000000000000028", "avsLine1Fail", visa, credit, "US"},
	{"4000000000000010", "avsFail", visa, credit, "US"},
	{"4000000000000044", "avsUnchecked", visa, credit, "US"},

	// These succeed, and then the customer complains.
	{"4000000000000259", "createDispute", visa, credit, "US"},
	{"4000000000002685", "createDisputeProductNotReceived", visa, credit, "US"},
	{"4000000000001976", "createDisputeInquiry", visa, credit, "US"},
	{"4000000000005423", "createIssuerFraudRecord", visa, credit, "US"},
	{"4000000404000079", "createMultipleDisputes", visa, credit, "US"},
	{"4000000404000038", "createCe3EligibleDispute", visa, credit, "US"},
	{"4000008400000779", "createComplianceDispute", visa, credit, "US"},

	// These succeed; their refunds are slow, or fail afterwards.
	{"4000000000007726", "pendingRefund", visa, credit, "US"},
	{"4000000000005126", "refundFail", visa, credit, "US"},

	// The money of these is available at once.
	{"4000000000000077", "bypassPending", visa, credit, "US"},
	{"4000003720000278", "bypassPendingInternational", visa, credit, "IE"},

	// These want their holder to agree (3-D Secure).
	{"4000002500003155", "authenticationRequiredOnSetup", visa, credit, "FR"},
	{"4000002760003184", "authenticationRequired", visa, credit, "DE"},
	{"4000003800000446", "authenticationRequiredSetupForOffSession", visa, credit, "IT"},
	{"4000008260003178", "authenticationRequiredChargeDeclinedInsufficientFunds", visa, credit, "GB"},
	{"4000000000003220", "threeDSecure2Required", visa, credit, "US"},
	{"4000008400001629", "threeDSecureRequiredChargeDeclined", visa, credit, "US"},
	{"4000008400001280", "threeDSecureRequiredProcessingError", visa, credit, "US"},
	{"4000000000003055", "threeDSecureOptional", visa, credit, "US"},
}
