package money

import "strings"

// codes are the currencies a card can be charged in, in the order in which
// Stripe's own message lists them, without those it has withdrawn.
var codes = strings.Fields(`
	usd
	aed afn all amd ang aoa ars aud awg azn
	bam bbd bdt bgn bhd bif bmd bnd bob brl bsd bwp byn bzd
	cad cdf chf clp cny cop crc cve czk
	djf dkk dop dzd
	egp etb eur
	fjd fkp
	gbp gel gip gmd gnf gtq gyd
	hkd hnl htg huf
	idr ils inr isk
	jmd jod jpy
	kes kgs khr kmf krw kwd kyd kzt
	lak lbp lkr lrd lsl
	mad mdl mga mkd mmk mnt mop mur mvr mwk mxn myr mzn
	nad ngn nio nok npr nzd
	omr
	pab pen pgk php pkr pln pyg
	qar
	ron rsd rub rwf
	sar sbd scr sek sgd shp sle sos srd std szl
	thb tjs tnd top try ttd twd tzs
	uah ugx uyu uzs
	vnd vuv
	wst
	xaf xcd xof xpf
	yer
	zar zmw
	btn ghs
`)

// noDecimals are counted in whole units: 500 is ¥500.
var noDecimals = strings.Fields(`bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf`)

// threeDecimals are counted in thousandths. The networks carry two decimals, so
// the last digit has to be 0.
var threeDecimals = strings.Fields(`bhd jod kwd omr tnd`)

// wholeOnly have no fractions but are sent as if they had two, as they did when
// Stripe began to take them: 500 is 5 kr, and the last two digits have to be 00.
var wholeOnly = strings.Fields(`isk ugx`)

// minimums are the smallest amounts Stripe publishes, in the smallest unit. For
// all others see defaultMinimum.
var minimums = map[string]int64{
	"usd": 50, "aud": 50, "brl": 50, "cad": 50, "chf": 50, "eur": 50, "nzd": 50, "sgd": 50,
	"gbp": 30, "dkk": 250, "nok": 300, "sek": 300, "hkd": 400, "mxn": 1000, "jpy": 50,
}

// symbols stand before an amount; a currency without one puts its code after it.
// Of the many dollars only the American one is called just that.
var symbols = map[string]string{
	"usd": "$",
	"aud": "A$",
	"cad": "CA$",
	"nzd": "NZ$",
	"hkd": "HK$",
	"sgd": "S$",
	"twd": "NT$",
	"mxn": "MX$",
	"brl": "R$",
	"eur": "€",
	"gbp": "£",
	"jpy": "¥",
	"cny": "CN¥",
	"inr": "₹",
	"krw": "₩",
	"ils": "₪",
	"vnd": "₫",
	"php": "₱",
	"ngn": "₦",
}
