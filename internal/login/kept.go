package login

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// keptField carries a form through the login. It comes from the person's own browser and goes back there.
const keptField = "kept"

// Kept is a form that was sent after its session had ended. It is shown after the login, and sent again only if the
// person says so: with its idempotency key, so that it happens once.
type Kept struct {
	Path string
	Form url.Values
}

// Field is a value of a form.
type Field struct{ Name, Value string }

// keep is a form as text. Passwords and codes are left out.
func keep(r *http.Request) string {
	form := url.Values{}
	for name, values := range r.PostForm {
		if !slices.Contains([]string{"csrf", "password", "present", "next", "code"}, name) {
			form[name] = values
		}
	}
	text, _ := json.Marshal(Kept{r.URL.Path, form}) // texts always encode
	return base64.RawURLEncoding.EncodeToString(text)
}

func keptIn(r *http.Request) (k Kept, is bool) {
	text, err := base64.RawURLEncoding.DecodeString(r.PostFormValue(keptField))
	if err != nil || json.Unmarshal(text, &k) != nil || len(k.Form) == 0 {
		return k, false
	}
	return k, OwnPage(k.Path) == k.Path
}

// Fields are the form's names and values, sorted by name.
func (k Kept) Fields() (all []Field) {
	for name, values := range k.Form {
		for _, value := range values {
			all = append(all, Field{name, value})
		}
	}
	slices.SortStableFunc(all, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Typed are the values that a person filled in.
func (k Kept) Typed() []Field {
	return slices.DeleteFunc(k.Fields(), func(f Field) bool {
		return f.Value == "" || slices.Contains([]string{"key", "from", "generation", "back"}, f.Name)
	})
}
