package api

import (
	"context"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	contract "github.com/ratchet-pay/ratchet/api"
	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/webhook"
	"github.com/ratchet-pay/ratchet/internal/wire"
)

// route is one line of the API: a method, a path, and what answers it.
type route struct {
	method, path string
	kind         string       // of the answer's object: "charge", "list:charge"
	params       reflect.Type // the struct its parameters are decoded into
	operation    string       // of a mutating route: "charge.create"
	publishable  bool         // a publishable key will do
	empty        bool         // a list of a product that this installation does not have
	shows        []string     // kinds of objects that a restricted key must be allowed to read, too
	// answer returns the response of a mutation, or the JSON of what was read.
	answer func(ctx context.Context, s *Server, r *request) (phase.Response, []byte, error)
}

func (r route) openToPublishableKeys() route {
	r.publishable = true
	return r
}

// showing is a route that opens a way to objects of other kinds.
func (r route) showing(kinds ...string) route {
	r.shows = kinds
	return r
}

// unless is a route whose requests another one answers where applies says so.
func (r route) unless(applies func(*request) bool, other route) route {
	usual := r.answer
	r.answer = func(ctx context.Context, s *Server, q *request) (phase.Response, []byte, error) {
		if applies(q) {
			return other.answer(ctx, s, q)
		}
		return usual(ctx, s, q)
	}
	return r
}

// namesTestCard is true of a request for a payment method such as pm_card_visa. Live mode has none.
func namesTestCard(r *request) bool {
	return !r.credential.Livemode && customer.IsTestCard(r.pathParam("payment_method"))
}

// reader answers a request that changes nothing.
type reader[P any] func(ctx context.Context, db phase.Reader, v resource.Principal, in P) (any, error)

// get is a route that reads.
func get[P any](path string, read reader[P], kind string) route {
	return route{method: http.MethodGet, path: path, kind: kind, params: reflect.TypeFor[P](),
		answer: func(ctx context.Context, s *Server, r *request) (phase.Response, []byte, error) {
			var in P
			if err := decode(r, &in, kind); err != nil {
				return phase.Response{}, nil, err
			}
			search, timeout := strings.HasPrefix(kind, "search:"), s.limits.ReadTime
			if search {
				timeout = s.limits.SearchTime
			}
			release, err := s.limiters.reads.enter(ctx, r.credential.AccountID, search, mostObjects(in))
			if err != nil {
				return phase.Response{}, nil, err
			}
			defer release()
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			object, err := read(ctx, s.engine.Pool(), r.principal(), in)
			if err != nil {
				return phase.Response{}, nil, err
			}
			body, err := wire.Encode(object) // with a slot: encoding a long list takes as long as reading it
			return phase.Response{}, body, err
		}}
}

// mostObjects is how many objects a list with these parameters can have, and 1 if it is not a list.
func mostObjects(in any) int {
	v := reflect.ValueOf(in)
	if v.Kind() != reflect.Struct {
		return 1
	}
	limit := v.FieldByName("Limit")
	if !limit.IsValid() || limit.Type() != reflect.TypeFor[form.Limit]() {
		return 1
	}
	return int(limit.Int())
}

// post is a route that changes something: it runs a flow, under the caller's key.
func post[P, S any](path string, flow *phase.Flow[P, S], kind string) route {
	return mutation(http.MethodPost, path, flow, kind)
}

// del is a route that deletes. Stripe ignores an idempotency key here: deleting
// twice is harmless. It runs a flow all the same, and leaves the same trail.
func del[P, S any](path string, flow *phase.Flow[P, S]) route {
	return mutation(http.MethodDelete, path, flow, "deleted")
}

func mutation[P, S any](method, path string, flow *phase.Flow[P, S], kind string) route {
	return route{method: method, path: path, kind: kind, params: reflect.TypeFor[P](), operation: flow.Name(),
		answer: func(ctx context.Context, s *Server, r *request) (phase.Response, []byte, error) {
			var in P
			if err := decode(r, &in, kind); err != nil {
				return phase.Response{}, nil, err
			}
			ctx, received := acquirer.WithNotifications(webhook.WithPrivate(ctx, s.private))
			answer, err := flow.Serve(ctx, s.engine, r.engineRequest(s), in)
			if err == nil {
				s.applyNotifications(ctx, received)
			}
			return answer, nil, err
		}}
}

// decode reads a route's parameters: from the form by name, from the path by the
// "path" tag. A field tagged path:"id" is the last one in the path.
func decode(r *request, in any, kind string) error {
	err := form.DecodeOf(r.version.Request(r.route.operation, r.values), in, r.route.lacks)
	if err != nil {
		return err
	}
	v := reflect.ValueOf(in).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		if name, is := field.Tag.Lookup("path"); is {
			v.FieldByIndex(field.Index).SetString(r.pathParam(name))
		}
	}
	if expand := v.FieldByName("Expand"); expand.IsValid() {
		shown, err := resource.CheckExpand(r.version, kind, expand.Interface().(form.Expand))
		if err != nil {
			return err
		}
		return r.permissions.check(r.credential, r.route, shown)
	}
	return nil
}

var (
	unsupported  = contract.UnsupportedParameters()
	listPosition = regexp.MustCompile(`\[[0-9]+\]`)
)

// lacks says whether a parameter, line_items[0][tax_rates], is one that Stripe's
// operation has and ours lacks.
func (r route) lacks(parameter string) bool {
	return slices.Contains(unsupported[r.method+" "+r.path], listPosition.ReplaceAllLiteralString(parameter, "[]"))
}

// prefer reads how long a caller wants to wait for its key's first request.
func prefer(header http.Header) time.Duration {
	const longest = 20
	seconds := 0
	for _, wish := range strings.Split(header.Get("Prefer"), ",") {
		if wait, is := strings.CutPrefix(strings.TrimSpace(wish), "wait="); is {
			for _, digit := range wait {
				if digit < '0' || digit > '9' || seconds > longest {
					break
				}
				seconds = seconds*10 + int(digit-'0')
			}
		}
	}
	return time.Duration(min(seconds, longest)) * time.Second
}
