package demo

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/ratchet-pay/ratchet/internal/crashpoint"
	"github.com/ratchet-pay/ratchet/internal/port"
)

// startDoomed starts one more API server, which crashes where a request tells it to. Nothing restarts
// it, and the demo's own server is not touched: a reader may be using it.
func (d *demo) startDoomed(ctx context.Context) (base string, end func(), err error) {
	addr, err := port.Reserve()
	if err != nil {
		return "", nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("find this program: %w", err)
	}
	c := &child{name: "serve", program: program, log: d.dir.log("sample"), console: d.console,
		environ: append(append(inherited(), d.environ()...), "RATCHET_ADDR="+addr, crashpoint.Enable+"=1")}
	life, err := c.launch()
	if err != nil {
		return "", nil, err
	}
	end = func() {
		_ = life.cmd.Process.Kill() // it has ended already, if the crash was where it should be
		<-life.exited
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	d.console.sayf("serve %d is a server of the sample's; it crashes during a payment", life.cmd.Process.Pid)
	base = "http://" + addr
	if err := answers(ctx, c, base+"/v1/account"); err != nil {
		end()
		return "", nil, err
	}
	return base, end, nil
}

// createDespite makes an object while the server that is asked first crashes at a boundary. The
// request is repeated until the demo's server has the response, which the worker found out.
func (s *sampler) createDespite(ctx context.Context, at, path string, params ...string) (made sampled, err error) {
	s.sent++
	key, form := fmt.Sprintf("sample-%d", s.sent), formOf(append(params, "metadata[sample]", "yes"))
	server, end, err := s.doomed(ctx)
	if err != nil {
		return made, err
	}
	defer end()
	r, err := newRequest(ctx, http.MethodPost, server+path, key, form)
	if err != nil {
		return made, err
	}
	r.Close = true // as crashpoint requires
	r.Header.Set(crashpoint.AtHeader, at)
	_, _ = s.do(r, &made) // the connection breaks, unless an earlier run of the demo had the response
	return made, s.send(ctx, http.MethodPost, path, key, form, &made)
}
