package web

import "testing"

func TestCompact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ page, want string }{
		"beside the tags of blocks there is no white space": {
			"<div>\n  <p>\n    One\n  </p>\n</div>\n", "<div><p>One</p></div>"},
		"words are one space apart": {
			"<p>One\n   two <b>three</b>\n four</p>", "<p>One two <b>three</b> four</p>"},
		"no space appears between inline elements": {
			"<p><b>a</b><i>b</i></p>", "<p><b>a</b><i>b</i></p>"},
		"a space between inline elements stays": {
			"<p><b>a</b>\n <i>b</i></p>", "<p><b>a</b> <i>b</i></p>"},
		"a tag is on one line, and its values stay": {
			"<a class=\"one  two\"\n   href='a \"b\"  c' >d</a>", `<a class="one  two" href='a "b"  c'>d</a>`},
		"code and forms' texts stay": {
			"<div>\n<pre>a\n   <b>b</b>\n</pre><textarea> x\n</textarea></div>",
			"<div><pre>a\n   <b>b</b>\n</pre><textarea> x\n</textarea></div>"},
		"a no-break space stays": {
			"<p>15,00\u00a0$\n</p>", "<p>15,00\u00a0$</p>"},
		"references to characters stay": {
			"<p>a &amp; b&#39;s</p>", "<p>a &amp; b&#39;s</p>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Compact(c.page)
			if got != c.want {
				t.Errorf("%q becomes %q, want %q", c.page, got, c.want)
			}
			if again := Compact(got); again != got {
				t.Errorf("compacted again it becomes %q", again)
			}
		})
	}
}
