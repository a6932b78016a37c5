package simulator

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// fault is what goes wrong with one request.
type fault struct {
	slow              time.Duration // before it acts, whether or not the client still waits
	dropBeforeActing  bool          // cuts the connection and does nothing
	dropAfterActing   bool          // acts, commits and cuts the connection
	failBeforeActing  bool          // 503 and does nothing
	failAfterActing   bool          // acts, commits and answers 503
	forgetKeys        bool          // its memory for the key is lost; the journal is not
	wrongAmount       bool          // answers with one minor unit more than it moved
	retireKey         bool          // an unused key is refused now and forever
	lateNotifications bool          // the answer comes without its notifications
}

// faults is what may go wrong, each with a probability or for a number of
// requests: "slow:300,drop_after_acting=0.2,retire_key*1".
type faults struct {
	text  string
	rules []faultRule
}

type faultRule struct {
	probability float64
	left        *atomic.Int64 // how often it still applies; nil is forever
	apply       func(*fault)
}

var switches = map[string]func(*fault){
	"drop_before_acting": func(t *fault) { t.dropBeforeActing = true },
	"drop_after_acting":  func(t *fault) { t.dropAfterActing = true },
	"fail_before_acting": func(t *fault) { t.failBeforeActing = true },
	"fail_after_acting":  func(t *fault) { t.failAfterActing = true },
	"forget_keys":        func(t *fault) { t.forgetKeys = true },
	"wrong_amount":       func(t *fault) { t.wrongAmount = true },
	"retire_key":         func(t *fault) { t.retireKey = true },
	"late_notifications": func(t *fault) { t.lateNotifications = true },
}

// parseFaults reads a comma-separated list of switches. Each may end in
// =probability or in *times; slow takes milliseconds after a colon.
func parseFaults(text string) (*faults, error) {
	parsed := &faults{text: text}
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		rule, err := parseFaultRule(word)
		if err != nil {
			return nil, err
		}
		parsed.rules = append(parsed.rules, rule)
	}
	return parsed, nil
}

func parseFaultRule(word string) (faultRule, error) {
	rule := faultRule{probability: 1}
	name, probability, ok := strings.Cut(word, "=")
	if ok {
		p, err := strconv.ParseFloat(probability, 64)
		if err != nil || !(p >= 0 && p <= 1) {
			return rule, fmt.Errorf("fault %q: the probability must be between 0 and 1", word)
		}
		rule.probability = p
	}
	name, times, ok := strings.Cut(name, "*")
	if ok {
		n, err := strconv.ParseUint(times, 10, 31)
		if err != nil {
			return rule, fmt.Errorf("fault %q: want *<times>", word)
		}
		rule.left = new(atomic.Int64)
		rule.left.Store(int64(n))
	}
	ms, ok := strings.CutPrefix(name, "slow:")
	if ok {
		n, err := strconv.ParseUint(ms, 10, 31)
		if err != nil {
			return rule, fmt.Errorf("fault %q: want slow:<milliseconds>", word)
		}
		rule.apply = func(t *fault) { t.slow = time.Duration(n) * time.Millisecond }
		return rule, nil
	}
	rule.apply, ok = switches[name]
	if !ok {
		return rule, fmt.Errorf("unknown fault %q", word)
	}
	return rule, nil
}

// strike decides what goes wrong with one request.
func (ts *faults) strike(t *fault) {
	for _, rule := range ts.rules {
		if rule.strikes() {
			rule.apply(t)
		}
	}
}

func (r faultRule) strikes() bool {
	if r.probability < 1 && rand.Float64() >= r.probability {
		return false
	}
	return r.left == nil || r.left.Add(-1) >= 0
}
