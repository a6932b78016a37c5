package dashboard

import "github.com/ratchet-pay/ratchet/internal/lab/page"

// openLab makes the pages of the crash lab. Their recorded runs are part of the program;
// only a demo can run them again.
func (s *Server) openLab() *page.Pages {
	c := page.Config{Render: s.render, Fail: s.fail}
	if s.Lab != nil {
		c.Live = page.Remote{At: s.Lab}
	}
	return page.New(c)
}
