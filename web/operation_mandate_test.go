package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/web/access"
)

func TestAnOperationHaltsWhenWhoConfirmedItMayNoMoreAndAnotherGoesOn(t *testing.T) {
	d, c := readSpecification(t), signing(t)
	admin := c.as("admin")
	bulk := store.Powers{Role: store.RoleOperator, Rights: []store.Right{store.RightBulk}}
	powers := func(p store.Powers) func(store.SeenPerson) error {
		return func(who store.SeenPerson) error { _, err := c.store.SetPowers(c.ctx, "test", who, p); return err }
	}
	program := func(name string) []string {
		token := access.NewToken()
		if err := c.store.AddToken(c.ctx, "test", name, "ci", bulk, time.Hour, access.Hash(token)); err != nil {
			t.Fatal(err)
		}
		return []string{"Authorization", "Bearer " + token, "Content-Type", "application/json"}
	}
	// step takes the next one, whatever the pace says.
	step := func() store.OperationStep {
		c.exec(`update fenceline.operations set next_at = clock_timestamp() where state = 'running'`)
		step, err := c.store.StepOperation(c.ctx, "w-1")
		if err != nil {
			t.Fatal(err)
		}
		return step
	}
	losses := []struct {
		why   string
		token bool
		lose  func(store.SeenPerson) error
	}{
		{why: "has the role viewer now", lose: powers(store.Powers{Role: store.RoleViewer, Rights: bulk.Rights})},
		{why: "has not the right bulk any more", lose: powers(store.Powers{Role: store.RoleOperator})},
		{why: "may act in some queues only now", lose: powers(store.Powers{Role: store.RoleOperator, Rights: bulk.Rights, Queues: []string{"default"}})},
		{why: "has an account that is disabled", lose: func(who store.SeenPerson) error { _, err := c.store.Disable(c.ctx, "test", who); return err }},
		{why: "has no account any more", lose: func(who store.SeenPerson) error { _, err := c.store.RemovePerson(c.ctx, "test", who); return err }},
		{why: "is a token that was revoked", token: true, lose: func(who store.SeenPerson) error { return c.store.RemoveToken(c.ctx, "test", who.Name, "ci") }},
		{why: "is a token that expired at 20", token: true, lose: func(store.SeenPerson) error {
			c.exec(`update fenceline.tokens set expires_at = clock_timestamp() - interval '1 s'`)
			return nil
		}},
		{why: "has the role viewer now", token: true, lose: powers(store.Powers{Role: store.RoleViewer})},
		{why: "has no account any more", token: true, lose: func(who store.SeenPerson) error { _, err := c.store.RemovePerson(c.ctx, "test", who); return err }},
	}
	for i, loss := range losses {
		name, kind := fmt.Sprintf("p%d", i), fmt.Sprintf("kind-%d", i)
		var ids []int64
		for range 3 {
			ids = append(ids, c.enqueue(store.Request{Kind: kind, RunAt: time.Now().Add(time.Hour)}))
		}
		c.person(name, bulk)
		actor, by := name, append(c.as(name), "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin")
		if loss.token {
			actor, by = name+"/ci", program(name)
		}
		made := want(t, c.send("POST", "/api/v1/operations", `{"action":"terminate","q":"kind:`+kind+`"}`, by...), 201).json(t)
		at := "/operations/" + made["id"].(string)
		confirm := `{"reason":"duplicates","seen":{"revision":1},"pace":60}`
		want(t, c.send("POST", "/api/v1"+at+"/confirm", confirm, by...), 200)
		if step := step(); step.Position != 1 || step.State != store.OperationRunning {
			t.Fatalf("%s: %+v", loss.why, step)
		}
		if err := loss.lose(store.SeenPerson{Name: name}); err != nil {
			t.Fatal(err)
		}
		for range 2 { // halted once, and left so
			step()
		}
		reason := actor + ", who confirmed it, " + loss.why
		shown := d.told(t, want(t, c.send("GET", "/api/v1"+at, "", admin...), 200), "get", "/api/v1/operations/{id}")
		if said, _ := shown["halt_reason"].(string); shown["state"] != "halted" || shown["halt_code"] != "right_lost" || !strings.HasPrefix(said, reason) || fmt.Sprint(shown["position"]) != "1" {
			t.Errorf("%s: %v %v %v", reason, shown["state"], shown["halt_code"], shown["halt_reason"])
		}
		page := want(t, c.send("GET", at, "", admin...), 200).body
		for _, part := range []string{"It was halted: " + reason, "The other 2 jobs were not touched", "resumes it in their own name"} {
			if !strings.Contains(page, part) {
				t.Errorf("%s: the page lacks %q", reason, part)
			}
		}
		var audited string
		if err := c.owner.QueryRow(c.ctx, `select actor || ' ' || reason from fenceline.audit where action = 'halt' and detail ->> 'operation' = $1 and detail ->> 'halted_by' = 'right_lost'`, made["id"]).Scan(&audited); err != nil || !strings.HasPrefix(audited, "w-1 "+reason) {
			t.Errorf("%s: the audit says %q, %v", reason, audited, err)
		}
		// Who lost it cannot go on; somebody else can, in their own name.
		if status := c.send("POST", "/api/v1"+at+"/resume", `{"reason":"x","seen":{"revision":3}}`, by...).status; status != 403 && status != 401 {
			t.Errorf("%s: their own resumption is answered with %d", reason, status)
		}
		want(t, c.post(at+"/resume", fields("reason", "still needed", "seen", "3"), admin...), 303)
		if step := step(); step.State != store.OperationFinished {
			t.Errorf("%s: resumed, it is %+v", reason, step)
		}
		if page := want(t, c.send("GET", at, "", admin...), 200).body; !strings.Contains(page, "Carried on for") || !strings.Contains(page, "3 done, 0 left alone") {
			t.Errorf("%s: %s", reason, excerpt(page))
		}
		whose := map[string]int{}
		for _, id := range ids {
			all := c.transitions(id)
			whose[string(all[len(all)-1].Type)+" by "+all[len(all)-1].Actor]++
		}
		if whose["terminated by "+actor] != 1 || whose["terminated by admin"] != 2 {
			t.Errorf("%s: its jobs were %v", reason, whose)
		}
	}
	// Who has no account is not looked for, and who resumed it is who counts.
	kind := "later"
	for range 2 {
		c.enqueue(store.Request{Kind: kind, RunAt: time.Now().Add(time.Hour)})
	}
	c.person("grace", bulk)
	grace := c.as("grace")
	at := want(t, c.post("/operations", fields("do", "requeue matching", "q", "kind:"+kind, "order", "newest"), admin...), 303).header.Get("Location")
	want(t, c.post(at+"/confirm", fields("reason", "x", "seen", "1", "pace", "60"), admin...), 303)
	want(t, c.post(at+"/pause", fields("reason", "x", "seen", "2"), admin...), 303)
	want(t, c.post(at+"/resume", fields("reason", "x", "seen", "3", "pace", "60"), grace...), 303)
	if _, err := c.store.RemovePerson(c.ctx, "test", store.SeenPerson{Name: "grace"}); err != nil {
		t.Fatal(err)
	}
	step()
	if page := want(t, c.send("GET", at, "", admin...), 200).body; !strings.Contains(page, "It was halted: grace, who resumed it, has no account any more") {
		t.Errorf("%s", excerpt(page))
	}
}
