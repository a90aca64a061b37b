package main

import "github.com/fenceline/fenceline/store/watch"

// watch says how the process looks after the database beside its own work.
func (p pool) watch(a *app, s *session) watch.Config {
	rules := p.thresholds.read()
	return watch.Config{Store: s.Store, Log: a.log, Rules: &rules, Keep: p.Transitions.orNever(),
		Notices: p.HTTP.Notify, Console: p.HTTP.Console}
}
