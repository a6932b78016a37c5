package login

import (
	"errors"
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/people"
	"github.com/ratchet-pay/ratchet/web"
)

// usersPage is where administrators manage people.
type usersPage struct {
	Users    []userRow
	Roles    []roleChoice
	Typed    string
	Wrong    string
	Password string // of Named, just made: the only time it is shown
	Named    string
	First    bool // there is no user yet
}

type userRow struct {
	people.User
	Sessions int
}

// State is the user's, in the badges' words.
func (u userRow) State() string {
	if u.DisabledAt != nil {
		return "disabled"
	}
	return "enabled"
}

type roleChoice struct{ Role, Does string }

var roleChoices = []roleChoice{
	{string(people.View), "view: see everything"},
	{string(people.Operate), "operate: refund, capture, edit, resend, resolve"},
	{string(people.Administer), "administer: also users and webhook endpoints"},
}

func (g *Guard) showUsers(w http.ResponseWriter, r *http.Request) {
	g.listUsers(w, r, http.StatusOK, usersPage{})
}

func (g *Guard) listUsers(w http.ResponseWriter, r *http.Request, status int, page usersPage) {
	users, err := people.List(r.Context(), g.Pool)
	if err != nil {
		g.Fail(w, r, err)
		return
	}
	page.Roles, page.First = roleChoices, len(users) == 0
	for i := range users {
		open, err := people.Sessions(r.Context(), g.Pool, &users[i])
		if err != nil {
			g.Fail(w, r, err)
			return
		}
		page.Users = append(page.Users, userRow{users[i], len(open)})
	}
	g.Render(w, r, status, "dashboard/users", web.Page{Title: "Users", Here: "users", Dashboard: true, Data: page})
}

// postUser creates a user, and shows the first password.
func (g *Guard) postUser(w http.ResponseWriter, r *http.Request) {
	email := r.PostFormValue("email")
	user, password, err := people.Create(r.Context(), g.Pool, by(r), email, people.Role(r.PostFormValue("role")))
	if wrong := userRefusal(err); wrong != "" {
		g.listUsers(w, r, http.StatusUnprocessableEntity, usersPage{Wrong: wrong, Typed: email})
		return
	}
	if err != nil {
		g.Fail(w, r, err)
		return
	}
	g.note(r, "user.create", user.ID)
	g.listUsers(w, r, http.StatusOK, usersPage{Password: password, Named: user.Email})
}

// postUserAction does something to a user.
func (g *Guard) postUserAction(w http.ResponseWriter, r *http.Request) {
	ctx, userID, page := r.Context(), r.PathValue("id"), usersPage{}
	var err error
	done := ""
	switch r.PathValue("action") {
	case "role":
		err, done = people.SetRole(ctx, g.Pool, by(r), userID, people.Role(r.PostFormValue("role"))), "Role changed."
	case "disable":
		err, done = people.Disable(ctx, g.Pool, by(r), userID), "User disabled. Their sessions ended."
	case "enable":
		err, done = people.Enable(ctx, g.Pool, by(r), userID), "User enabled."
	case "totp-reset":
		err, done = people.ResetTOTP(ctx, g.Pool, by(r), userID), "Second factor removed. Their sessions ended."
	case "end-sessions":
		err, done = people.EndSessions(ctx, g.Pool, by(r), userID), "Their sessions ended."
	case "password":
		page.Password, err = people.ResetPassword(ctx, g.Pool, by(r), userID)
		page.Named = r.PostFormValue("email")
	default:
		g.Render(w, r, http.StatusNotFound, "dashboard/problem", web.Page{Title: "Not found", Dashboard: true,
			Data: Problem{"Page not found", "Check the address.", "/dashboard/users", "Go to users"}})
		return
	}
	if wrong := userRefusal(err); wrong != "" {
		g.listUsers(w, r, http.StatusUnprocessableEntity, usersPage{Wrong: wrong})
		return
	}
	if err != nil {
		g.Fail(w, r, err)
		return
	}
	g.note(r, "user."+r.PathValue("action"), userID)
	if page.Password != "" {
		g.listUsers(w, r, http.StatusOK, page)
		return
	}
	Say(w, r, done)
	http.Redirect(w, r, "/dashboard/users", http.StatusSeeOther)
}

// userRefusal says to a person why a user was not changed, or "".
func userRefusal(err error) string {
	switch {
	case errors.Is(err, people.ErrEmail):
		return "Enter an email address."
	case errors.Is(err, people.ErrRole):
		return "Choose a role."
	case errors.Is(err, people.ErrExists):
		return "A user with this email already exists."
	case errors.Is(err, people.ErrLast):
		return "Nothing changed. This is the last administrator; make another user an administrator first."
	case errors.Is(err, people.ErrUnknown):
		return "This user doesn’t exist."
	}
	return ""
}
