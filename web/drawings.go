package web

// drawings are what the shop sells, on a field of 160 by 120. Their classes (line,
// body, deep, light) get their colors from shop.css.
var drawings = map[string]string{
	"mug": `<path class="shade" d="M38 104h70"/>` +
		`<path class="line body" d="M44 36h60v54a10 10 0 0 1-10 10H54a10 10 0 0 1-10-10Z"/>` +
		`<path class="line" d="M104 48h8a14 14 0 0 1 0 28h-8"/>` +
		`<ellipse class="line deep" cx="74" cy="36" rx="30" ry="7"/>` +
		`<path class="light" d="M66 58l8-4v28"/>` +
		`<path class="steam" d="M62 22c-4-5 4-8 0-13M75 21c-4-5 4-9 0-14M88 22c-4-5 4-8 0-13"/>`,
	"spanner": `<path class="shade" d="M30 106h96"/>` +
		`<path class="line body" d="M64 62L118 98a8 8 0 0 0 10-13L74 49Z"/>` +
		`<circle class="line body" cx="54" cy="46" r="27"/>` +
		`<path class="line deep" d="M54 27l4 6 7-2 1 7 7 2-2 7 5 5-6 4 1 7-7 1-3 6-6-3-6 4-4-6-7 0 0-7-6-4 4-6-3-6 7-3 2-7 7 1Z"/>` +
		`<path class="line body" d="M48 40h12v12H48Z"/>` +
		`<path class="light" d="M84 64l36 24"/>`,
	"ledger": `<path class="shade" d="M34 106h94"/>` +
		`<path class="line body" d="M40 20h74a6 6 0 0 1 6 6v70a6 6 0 0 1-6 6H40Z"/>` +
		`<path class="line deep" d="M40 20h10v82H40Z"/>` +
		`<path class="line page" d="M62 34h46v30H62Z"/>` +
		`<path class="rule" d="M85 38v22M66 43h14M66 49h11M66 55h14M90 43h14M90 49h11M90 55h14"/>` +
		`<path class="light" d="M64 78h42M64 86h26"/>`,
	"stamp": `<path class="shade" d="M34 106h92"/>` +
		`<path class="line body" d="M66 22a14 14 0 0 1 28 0c0 10-6 14-6 24v10H72V46c0-10-6-14-6-24Z"/>` +
		`<path class="line deep" d="M46 56h68a6 6 0 0 1 6 6v14H40V62a6 6 0 0 1 6-6Z"/>` +
		`<path class="line body" d="M44 76h72v8H44Z"/>` +
		`<path class="ink" d="M46 96h68"/>` +
		`<path class="light" d="M77 18a6 6 0 0 1 6-4"/>`,
	"bookends": `<path class="shade" d="M20 106h120"/>` +
		`<path class="line body" d="M30 36h10v56h20v10H30Z"/><path class="line body" d="M130 36h-10v56h-20v10h30Z"/>` +
		`<path class="line deep" d="M44 44h14v48H44Z"/><path class="line page" d="M58 34h12v58H58Z"/><path class="line body" d="M70 48h16v44H70Z"/>` +
		`<path class="line deep" d="M86 40h11v52H86Z"/><path class="line page" d="M97 92l9-46 10 2-9 46Z"/>` +
		`<path class="light" d="M75 56h6M75 62h6"/>`,
	"umbrella": `<path class="shade" d="M54 110h56"/>` +
		`<path class="line" d="M80 16v74a9 9 0 0 0 18 0"/>` +
		`<path class="line body" d="M24 66a56 46 0 0 1 112 0c-6-7-14-9-19-9-6 0-13 3-18 9-5-6-12-9-19-9s-14 3-19 9c-5-6-12-9-18-9s-13 2-19 9Z"/>` +
		`<path class="line deep" d="M80 20c-12 8-19 24-19 46 5-6 12-9 19-9s14 3 19 9c0-22-7-38-19-46Z"/>` +
		`<path class="light" d="M40 50c4-9 11-16 20-21"/>`,
}
