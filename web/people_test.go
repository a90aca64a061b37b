package web_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/web/access"
)

// peopleAudit are the entries of the audit about accounts and tokens since an
// entry.
func (c *console) peopleAudit(since int64) string {
	c.t.Helper()
	var all string
	err := c.owner.QueryRow(c.ctx, `select coalesce(string_agg(concat_ws(' ', actor, action, outcome, detail ->> 'person', detail ->> 'token', seen || '→' || revision), e'\n' order by id), '')
		from fenceline.audit where id > $1 and action ~ '^(person|token|sign_ins)_'`, since).Scan(&all)
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

func (c *console) lastAudit() (id int64) {
	c.t.Helper()
	if err := c.owner.QueryRow(c.ctx, `select max(id) from fenceline.audit`).Scan(&id); err != nil {
		c.t.Fatal(err)
	}
	return id
}

func (c *console) account(name string) store.Person {
	c.t.Helper()
	p, err := c.store.PersonNamed(c.ctx, name)
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

func TestAnAdminChangesWhatPeopleMayDoAsTheySawIt(t *testing.T) {
	c := signing(t)
	admin, operator := c.as("admin"), c.as("operator")
	program := access.NewToken()
	if err := c.store.AddToken(c.ctx, "test", "operator", "deploy", store.Powers{Role: store.RoleOperator}, time.Hour, access.Hash(program)); err != nil {
		t.Fatal(err)
	}
	bearer := []string{"Authorization", "Bearer " + program}
	since := c.lastAudit()
	at := "/people/" + text(c.account("operator").ID)
	list := want(t, c.send("GET", "/people", "", admin...), 200).body
	for _, part := range []string{`href="` + at + `"`, "operator/deploy", ">never<", `aria-current="page"`} {
		if !strings.Contains(list, part) {
			t.Errorf("the list lacks %s: %s", part, excerpt(list))
		}
	}
	if strings.Contains(want(t, c.send("GET", "/jobs", "", operator...), 200).body, `href="/people"`) {
		t.Error("who may not is led there")
	}
	powers := func(seen string, pairs ...string) answer {
		return c.post(at+"/powers", fields(append([]string{"seen", seen}, pairs...)...), admin...)
	}
	want(t, powers("1", "role", "operator", "reveal", "on", "queues", "mail\r\na b/c\r\n"), 303)
	p := c.account("operator")
	if len(p.Queues) != 2 || p.Queues[1] != "a b/c" || !p.Has(store.RightReveal) || p.Has(store.RightBulk) || p.Revision != 2 {
		t.Errorf("%+v", p)
	}
	// Somebody else was faster: nothing is changed, and the choice is kept.
	stale := want(t, powers("1", "role", "admin", "queues", "typed/queue"), 409).body
	for _, part := range []string{"Changed since you looked", "typed/queue</textarea>", `<option value="admin" selected`, `name="seen" value="2"`} {
		if !strings.Contains(stale, part) {
			t.Errorf("the conflict lacks %s", part)
		}
	}
	if wrong := want(t, powers("2", "role", "king"), 422).body; !strings.Contains(wrong, "must be viewer, operator or admin") {
		t.Errorf("%s", excerpt(wrong))
	}
	want(t, powers("", "role", "viewer"), 422)

	// Disabled: neither session nor token nor password, until enabled.
	want(t, c.send("GET", "/jobs", "", operator...), 200)
	want(t, c.send("GET", "/api/v1/jobs", "", bearer...), 200)
	want(t, c.post(at+"/disable", fields("seen", "1"), admin...), 409)
	want(t, c.post(at+"/disable", fields("seen", "2"), admin...), 303)
	want(t, c.send("GET", "/jobs", "", operator...), 303)
	want(t, c.send("GET", "/jobs", "", c.as("operator")...), 303) // a session that began meanwhile
	want(t, c.send("GET", "/api/v1/jobs", "", bearer...), 401)
	if a := want(t, c.post("/sign-in", fields("name", "operator", "password", password)), 401); !strings.Contains(a.body, "That name and password do not fit.") {
		t.Errorf("%s", excerpt(a.body))
	}
	if page := want(t, c.send("GET", at, "", admin...), 200).body; !strings.Contains(page, ">disabled<") || !strings.Contains(page, "/enable") {
		t.Errorf("%s", excerpt(page))
	}
	want(t, c.post(at+"/enable", fields("seen", "3"), admin...), 303)
	want(t, c.send("GET", "/api/v1/jobs", "", bearer...), 200)
	want(t, c.post("/sign-in", fields("name", "operator", "password", password)), 303)

	// Sessions of somebody else, one and all.
	one, other := c.as("operator"), c.as("operator")
	want(t, c.post(at+"/sign-outs", fields("sign-in", access.Hash(strings.TrimPrefix(one[1], "fenceline="))), admin...), 303)
	want(t, c.send("GET", "/jobs", "", one...), 303)
	want(t, c.send("GET", "/jobs", "", other...), 200)
	want(t, c.post(at+"/sign-outs", fields(), admin...), 303)
	want(t, c.send("GET", "/jobs", "", other...), 303)
	// Of one's own, all but this one.
	own := "/people/" + text(c.account("admin").ID)
	second := c.as("admin")
	want(t, c.post(own+"/sign-outs", fields(), admin...), 303)
	want(t, c.send("GET", "/jobs", "", second...), 303)
	want(t, c.send("GET", "/jobs", "", admin...), 200)

	// Nobody changes what they themselves may do.
	for _, action := range []string{"powers", "disable", "enable", "password", "remove"} {
		want(t, c.post(own+"/"+action, fields("seen", "1", "role", "viewer", "name", "admin", "new-password", password), admin...), 409)
	}
	// Added on the page: what was typed stays, but for the password.
	add := func(name, password string) answer {
		return c.post("/people", fields("name", name, "new-password", password, "role", "operator", "reveal", "on", "queues", "typed/queue"), admin...)
	}
	for _, wrong := range [][2]string{{"a b", password}, {"Operator", password}, {"grace", "hush-hush"}} {
		page := want(t, add(wrong[0], wrong[1]), 422).body
		if !strings.Contains(page, `value="`+wrong[0]+`"`) || !strings.Contains(page, "typed/queue</textarea>") || !strings.Contains(page, `<option value="operator" selected`) || strings.Contains(page, wrong[1]) {
			t.Errorf("%v: %s", wrong, excerpt(page))
		}
	}
	led := want(t, add("grace", password), 303).header.Get("Location")
	grace, _, _ := strings.Cut(led, "?")
	if page := want(t, c.send("GET", led, "", admin...), 200).body; !strings.Contains(page, "Added.") || !strings.Contains(page, "typed/queue") {
		t.Errorf("%s", excerpt(page))
	}
	if page := want(t, c.post(grace+"/password", fields("seen", "1", "new-password", "short"), admin...), 422).body; !strings.Contains(page, `id="word-problem"`) {
		t.Errorf("%s", excerpt(page))
	}
	want(t, c.post(grace+"/password", fields("seen", "1", "new-password", password+"!"), admin...), 303)
	if page := want(t, c.post(grace+"/remove", fields("seen", "1", "name", "grac"), admin...), 422).body; !strings.Contains(page, `id="removal-problem"`) {
		t.Errorf("%s", excerpt(page))
	}
	want(t, c.post(grace+"/remove", fields("seen", "2", "name", "grace"), admin...), 409)
	gone := want(t, c.post(grace+"/remove", fields("seen", "1", "name", "grace"), admin...), 303).header.Get("Location")
	if page := want(t, c.send("GET", gone, "", admin...), 200).body; !strings.Contains(page, "Removed, with its sessions") || strings.Contains(page, ">grace<") {
		t.Errorf("%s", excerpt(page))
	}
	if page := want(t, c.send("GET", own, "", admin...), 200).body; strings.Contains(page, own+"/powers") || strings.Contains(page, own+"/disable") {
		t.Error("the page offers what is refused")
	}
	for _, path := range []string{"/people/9999", "/people/x", "/people/0"} {
		want(t, c.send("GET", path, "", admin...), 404)
		want(t, c.post(path+"/disable", fields("seen", "1"), admin...), 404)
	}
	expect := strings.Join([]string{
		"admin person_powers done operator 1→2",
		"admin person_powers changed operator 1→2",
		"admin person_disable changed operator 1→2",
		"admin person_disable done operator 2→3",
		"admin person_enable done operator 3→4",
		"admin sign_ins_end done operator",
		"admin sign_ins_end done operator",
		"admin sign_ins_end done admin",
		"admin person_add done grace",
		"admin person_password done grace 1→1",
		"admin person_remove changed grace 2→1",
		"admin person_remove done grace 1→1",
	}, "\n")
	if got := c.peopleAudit(since); got != expect {
		t.Errorf("the audit says\n%s\nwanted\n%s", got, expect)
	}
	var refused string
	if err := c.owner.QueryRow(c.ctx, `select string_agg(actor || ' ' || outcome, ', ') from fenceline.audit where id > $1 and action = 'sign_in' and outcome = 'refused'`, since).Scan(&refused); err != nil || refused != "operator refused" {
		t.Errorf("the try of who is disabled is recorded as %q, %v", refused, err)
	}
}

func TestTwoAdminsWhoEndEachOtherLeaveOneWhoIsToldWhy(t *testing.T) {
	d, c := readSpecification(t), signing(t)
	program := access.NewToken()
	c.person("ada", store.Powers{Role: store.RoleAdmin})
	if err := c.store.AddToken(c.ctx, "test", "ada", "sync", store.Powers{Role: store.RoleAdmin}, time.Hour, access.Hash(program)); err != nil {
		t.Fatal(err)
	}
	page := func(action string) func() answer {
		admin, at := c.as("admin"), "/people/"+text(c.account("ada").ID)+"/"+action
		sent := fields("seen", text(c.account("ada").Revision), "role", "viewer", "queues", "typed/queue", "name", "ada")
		return func() answer { return c.post(at, sent, admin...) }
	}
	api := func(action, body string) func() answer {
		at, seen := "/api/v1/people/"+text(c.account("admin").ID)+"/"+action, text(c.account("admin").Revision)
		return func() answer {
			return c.send("POST", at, `{"seen":{"revision":`+seen+`}`+body+`}`, "Authorization", "Bearer "+program, "Content-Type", "application/json")
		}
	}
	// A transaction keeps the list of sessions it read first, so another
	// connection than the one that looks holds the lock.
	lock, err := pgx.Connect(c.ctx, c.ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close(context.Background())
	// Both have passed every look at who they are before the first one is done.
	together := func(first, second func() answer) (one, two answer) {
		tx, err := lock.Begin(c.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(c.ctx, `select from fenceline.people for update`); err != nil {
			t.Fatal(err)
		}
		var done [2]chan answer
		for i, send := range []func() answer{first, second} {
			done[i] = make(chan answer, 1)
			go func() { done[i] <- send() }()
			c.eventually("the change waits", func() bool {
				var n int
				err := c.owner.QueryRow(c.ctx, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&n)
				return err == nil && n == i+1
			})
		}
		if err := tx.Rollback(c.ctx); err != nil {
			t.Fatal(err)
		}
		return <-done[0], <-done[1]
	}
	// The page is first, and the program is refused.
	for action, body := range map[string]string{"disable": ``, "powers": `,"role":"viewer"`} {
		one, two := together(page("disable"), api(action, body))
		want(t, one, 303)
		refused := d.told(t, want(t, two, 409), "post", "/api/v1/people/{id}/"+action)["error"].(map[string]any)
		if refused["code"] != "last_admin" || refused["person"].(map[string]any)["role"] != "admin" || !strings.HasPrefix(refused["message"].(string), "admin is the only admin") {
			t.Errorf("%v", refused)
		}
		if _, err := c.store.Enable(c.ctx, "test", store.SeenPerson{Name: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	// The program is first, and the page says why not.
	for _, action := range []string{"disable", "powers", "remove"} {
		one, two := together(api("disable", ""), page(action))
		want(t, one, 200)
		body := want(t, two, 409).body
		if !strings.Contains(body, "The only admin") || !strings.Contains(body, "ada is the only admin whose account is enabled") || strings.Contains(body, "Changed since you looked") {
			t.Errorf("%s: %s", action, excerpt(body))
		}
		if action == "powers" && !strings.Contains(body, "typed/queue</textarea>") {
			t.Error("what was chosen is lost")
		}
		if _, err := c.store.Enable(c.ctx, "test", store.SeenPerson{Name: "admin"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestATokenIsShownOnceAndRevokedAsSeen(t *testing.T) {
	c := signing(t)
	admin := c.as("admin")
	at := "/people/" + text(c.account("operator").ID)
	since := c.lastAudit()
	for _, wrong := range [][]string{{"name", "a b", "days", "1", "role", "viewer"}, {"name", "x", "days", "0", "role", "viewer"}, {"name", "x", "days", "367", "role", "viewer"}, {"name", "x", "days", "1", "role", "none"}} {
		page := want(t, c.post(at+"/tokens", fields(wrong...), admin...), 422).body
		if !strings.Contains(page, `name="name" value="`+wrong[1]+`"`) {
			t.Errorf("%v has to be typed again", wrong)
		}
	}
	made := want(t, c.post(at+"/tokens", fields("name", "deploy", "days", "7", "role", "admin"), admin...), 201)
	token := regexp.MustCompile(`fnc_\w+`).FindString(made.body)
	if token == "" || made.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%v: %s", made.header, excerpt(made.body))
	}
	bearer := []string{"Authorization", "Bearer " + token, "Content-Type", "application/json"}
	want(t, c.send("POST", "/api/v1/jobs", `{"kind":"report"}`, bearer...), 201)
	want(t, c.send("GET", "/api/v1/people", "", bearer...), 403) // no further than its person
	for _, path := range []string{at, "/people", "/audit"} {
		if page := want(t, c.send("GET", path, "", admin...), 200).body; strings.Contains(page, token) || strings.Contains(page, access.Hash(token)) {
			t.Errorf("%s shows the token", path)
		}
	}
	want(t, c.post(at+"/tokens", fields("name", "deploy", "days", "7", "role", "viewer"), admin...), 422) // the name is taken

	revoke := regexp.MustCompile(`/tokens/\d+/remove`).FindString(want(t, c.send("GET", at, "", admin...), 200).body)
	if led := want(t, c.post(revoke, fields(), admin...), 303).header.Get("Location"); !strings.HasPrefix(led, at) {
		t.Errorf("led to %s", led)
	}
	want(t, c.send("POST", "/api/v1/jobs", `{"kind":"report"}`, bearer...), 401)
	// Another token of the same name is not the one that was seen.
	want(t, c.post(at+"/tokens", fields("name", "deploy", "days", "7", "role", "viewer"), admin...), 201)
	want(t, c.post(revoke, fields(), admin...), 404)
	expect := "admin token_add done operator deploy\nadmin token_remove done operator deploy\nadmin token_add done operator deploy"
	if got := c.peopleAudit(since); got != expect {
		t.Errorf("the audit says\n%s\nwanted\n%s", got, expect)
	}
}

func TestProgramsAdministerPeopleAsTheDocumentSays(t *testing.T) {
	d, c := readSpecification(t), signing(t)
	program := access.NewToken()
	if err := c.store.AddToken(c.ctx, "test", "admin", "sync", store.Powers{Role: store.RoleAdmin}, time.Hour, access.Hash(program)); err != nil {
		t.Fatal(err)
	}
	send := func(status int, method, route, id, body string) map[string]any {
		t.Helper()
		a := c.send(strings.ToUpper(method), "/api/v1"+strings.ReplaceAll(route, "{id}", id), body, "Authorization", "Bearer "+program, "Content-Type", "application/json")
		return d.told(t, want(t, a, status), method, "/api/v1"+route)
	}
	c.as("viewer")
	viewer, admin := text(c.account("viewer").ID), text(c.account("admin").ID)
	if all := send(200, "get", "/people", "", "")["people"].([]any); len(all) != 3 {
		t.Errorf("%v", all)
	}
	if one := send(200, "get", "/people/{id}", viewer, ""); len(one["sign_ins"].([]any)) != 1 || one["disabled_at"] != nil {
		t.Errorf("%v", one)
	}
	now := send(200, "post", "/people/{id}/powers", viewer, `{"role":"operator","rights":["bulk"],"queues":["mail"],"seen":{"revision":1}}`)
	if now["role"] != "operator" || now["revision"].(interface{ String() string }).String() != "2" {
		t.Errorf("%v", now)
	}
	stale := send(409, "post", "/people/{id}/disable", viewer, `{"seen":{"revision":"1"}}`)["error"].(map[string]any)
	if stale["code"] != "changed" || stale["person"].(map[string]any)["role"] != "operator" {
		t.Errorf("%v", stale)
	}
	send(422, "post", "/people/{id}/disable", viewer, `{}`)
	send(422, "post", "/people/{id}/powers", viewer, `{"role":"operator","rights":["fly"],"seen":{"revision":2}}`)
	send(422, "post", "/people/{id}/powers", viewer, `{"role":"operator","rights":"all","seen":{"revision":2}}`)
	if off := send(200, "post", "/people/{id}/disable", viewer, `{"seen":{"revision":2}}`); off["disabled_at"] == nil {
		t.Errorf("%v", off)
	}
	send(200, "post", "/people/{id}/enable", viewer, `{"seen":{"revision":3}}`)
	send(404, "post", "/people/{id}/enable", "999", `{"seen":{"revision":3}}`)
	send(409, "post", "/people/{id}/disable", admin, `{"seen":{"revision":1}}`) // its person's own account
	// Added, given another password, and removed, as on the command line.
	send(422, "post", "/people", "", `{"name":"grace","password":"too short","role":"viewer"}`)
	send(422, "post", "/people", "", `{"name":"VIEWER","password":"`+password+`","role":"viewer"}`)
	send(422, "post", "/people", "", `{"name":"grace","password":"`+password+`","role":"king"}`)
	grace := send(201, "post", "/people", "", `{"name":"grace","password":"`+password+`","role":"operator","queues":["mail"]}`)
	id := grace["id"].(string)
	session := c.as("grace")
	send(409, "post", "/people/{id}/password", id, `{"password":"`+password+`!","seen":{"revision":7}}`)
	send(422, "post", "/people/{id}/password", id, `{"password":"short","seen":{"revision":1}}`)
	send(200, "post", "/people/{id}/password", id, `{"password":"`+password+`!","seen":{"revision":1}}`)
	send(409, "post", "/people/{id}/password", admin, `{"password":"`+password+`!","seen":{"revision":1}}`)
	want(t, c.send("GET", "/jobs", "", session...), 303)
	want(t, c.post("/sign-in", fields("name", "grace", "password", password)), 401)
	want(t, c.post("/sign-in", fields("name", "grace", "password", password+"!")), 303)
	send(422, "post", "/people/{id}/remove", id, `{}`)
	send(409, "post", "/people/{id}/remove", admin, `{"seen":{"revision":1}}`)
	if gone := send(200, "post", "/people/{id}/remove", id, `{"seen":{"revision":1}}`)["removed"]; gone != "grace" {
		t.Errorf("%v", gone)
	}
	send(404, "post", "/people/{id}/remove", id, `{"seen":{"revision":1}}`)
	c.as("viewer")
	if ended := send(200, "post", "/people/{id}/sign-outs", viewer, `{}`)["ended"]; ended.(interface{ String() string }).String() != "1" {
		t.Errorf("%v were ended", ended)
	}
	made := send(201, "post", "/people/{id}/tokens", viewer, `{"name":"ci","role":"viewer"}`)
	if made["acts_as"] != "viewer/ci" || !strings.HasPrefix(made["token"].(string), "fnc_") {
		t.Errorf("%v", made)
	}
	send(422, "post", "/people/{id}/tokens", viewer, `{"name":"ci","role":"viewer"}`)
	tokens := send(200, "get", "/tokens", "", "")["tokens"].([]any)
	if len(tokens) != 2 {
		t.Fatalf("%v", tokens)
	}
	id = tokens[1].(map[string]any)["id"].(string)
	if gone := send(200, "post", "/tokens/{id}/remove", id, `{}`)["removed"]; gone != "viewer/ci" {
		t.Errorf("%v", gone)
	}
	send(404, "post", "/tokens/{id}/remove", id, `{}`)
	want(t, openMore(t).get("/api/v1/people"), 404) // there are no people where nobody signs in
}
