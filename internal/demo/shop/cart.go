package shop

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/id"
)

// cart is what a visitor has picked. It lives in a cookie that is signed, and in
// no table: only who presses Pay leaves something behind.
type cart struct {
	id    string // drawn when the first thing is put into it
	lines []line // in the order of the shelf, each of a product
}

// line is so many of a product.
type line struct {
	Product  product
	Quantity int
}

// Amount is what the line costs, in US cents.
func (l line) Amount() int64 { return int64(l.Quantity) * l.Product.Price }

const (
	cartCookie = "shop_cart"
	cartTime   = 30 * 24 * 3600 // seconds
	mostOfOne  = 20
)

// Total is what the cart costs, in US cents.
func (c cart) Total() (total int64) {
	for _, l := range c.lines {
		total += l.Amount()
	}
	return total
}

// Count is how many things are in it.
func (c cart) Count() (count int) {
	for _, l := range c.lines {
		count += l.Quantity
	}
	return count
}

func (c cart) quantity(p *product) int {
	for _, l := range c.lines {
		if l.Product.ID == p.ID {
			return l.Quantity
		}
	}
	return 0
}

// with is the cart with so many of a product in it; none takes it out.
func (c cart) with(p *product, quantity int) cart {
	changed := cart{id: c.id}
	if changed.id == "" {
		changed.id = id.Random(16)
	}
	for _, on := range goods {
		n := c.quantity(&on)
		if on.ID == p.ID {
			n = min(max(quantity, 0), mostOfOne)
		}
		if n > 0 {
			changed.lines = append(changed.lines, line{on, n})
		}
	}
	return changed
}

// again is a cart of the same things that is another one: to order what was
// ordered before.
func (c cart) again() cart { return cart{id: id.Random(16), lines: c.lines} }

// text is the cart in its cookie: its id and so many of each, such as
// x7Yw….mug-2.stamp-1.
func (c cart) text() string {
	parts := []string{c.id}
	for _, l := range c.lines {
		parts = append(parts, l.Product.ID+"-"+strconv.Itoa(l.Quantity))
	}
	return strings.Join(parts, ".")
}

// parseCart forgets what is not sold any more.
func parseCart(text string) cart {
	name, rest, _ := strings.Cut(text, ".")
	c := cart{id: name}
	for _, part := range strings.Split(rest, ".") {
		of, count, _ := strings.Cut(part, "-")
		n, err := strconv.Atoi(count)
		if p := onShelf(of); p != nil && err == nil {
			c = c.with(p, n)
		}
	}
	return c
}

// orderID is the same for the same cart. So a cart that is paid for twice, by a
// double click, from two tabs or after a crash, is one order.
func (s *Server) orderID(c cart) string {
	text := new(big.Int).SetBytes(s.mac("order", c.text())).Text(62)
	const digits = 22 // 131 bits: another customer's order cannot be guessed
	return "order_" + strings.Repeat("0", max(0, digits-len(text))) + text[max(0, len(text)-digits):]
}

func (s *Server) mac(what, text string) []byte {
	mac := hmac.New(sha256.New, s.key)
	fmt.Fprintf(mac, "%s %s", what, text)
	return mac.Sum(nil)
}

// cartOf reads a visitor's cart. One whose signature is wrong is empty.
func (s *Server) cartOf(r *http.Request) cart {
	cookie, err := r.Cookie(cartCookie)
	if err != nil {
		return cart{}
	}
	text, signature, _ := strings.Cut(cookie.Value, "~")
	given, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || !hmac.Equal(given, s.mac("cart", text)) {
		return cart{}
	}
	return parseCart(text)
}

func (s *Server) keepCart(w http.ResponseWriter, c cart) {
	cookie := &http.Cookie{Name: cartCookie, Path: "/shop", HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: -1}
	if len(c.lines) > 0 {
		cookie.MaxAge = cartTime
		cookie.Value = c.text() + "~" + base64.RawURLEncoding.EncodeToString(s.mac("cart", c.text()))
	}
	http.SetCookie(w, cookie)
}

// postCart changes how many of a product are in the cart: to quantity, or by one
// more where none is given.
func (s *Server) postCart(w http.ResponseWriter, r *http.Request) {
	p := onShelf(r.PostFormValue("product"))
	if p == nil {
		s.problem(w, r, http.StatusBadRequest, "Product not found", "The shop doesn’t sell this product.")
		return
	}
	c := s.cartOf(r)
	quantity := c.quantity(p) + 1
	if given := r.PostFormValue("quantity"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil {
			s.problem(w, r, http.StatusBadRequest, "Invalid quantity", "Enter a whole number.")
			return
		}
		quantity = n
	}
	s.keepCart(w, c.with(p, quantity))
	http.Redirect(w, r, "/shop/cart", http.StatusSeeOther)
}
