package main

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// cli is the whole command line.
type cli struct {
	JSON      bool        `name:"json" help:"Print JSON instead of text for people."`
	LogLevel  string      `name:"log-level" env:"FENCELINE_LOG_LEVEL" enum:"auto,debug,info,warn,error" default:"auto" help:"What is logged on standard error: debug, info, warn or error. auto is info for serve and worker, warn for the others."`
	LogFormat string      `name:"log-format" env:"FENCELINE_LOG_FORMAT" enum:"auto,json,text" default:"auto" help:"json or text. auto is text on a terminal, json elsewhere."`
	Version   versionFlag `name:"version" help:"Print the version and exit."`

	Serve      serveCmd      `cmd:"" help:"Serve the console and work jobs."`
	Worker     workerCmd     `cmd:"" help:"Work jobs, without a console."`
	Migrate    migrateCmd    `cmd:"" help:"Bring the database's schema to this program's version."`
	Enqueue    enqueueCmd    `cmd:"" help:"Store one job, or many from standard input."`
	Jobs       jobsCmd       `cmd:"" help:"List jobs, show one, and act on one."`
	User       userCmd       `cmd:"" help:"Say who may sign in to the console, and what they may do."`
	Token      tokenCmd      `cmd:"" help:"Make and remove tokens with which programs use the API."`
	Operations operationsCmd `cmd:"" help:"Act on many jobs: preview, confirm, follow, pause, cancel."`
	Queues     queuesCmd     `cmd:"" help:"Look at queues and kinds; pause, resume and limit them."`
	Audit      auditCmd      `cmd:"" help:"List what people did, were refused and looked at; export it."`
	Workers    workersCmd    `cmd:"" help:"Look at workers, and drain one."`
	Incidents  incidentsCmd  `cmd:"" help:"Look at what is wrong, say who has it, and report on it."`
	Verify     verifyCmd     `cmd:"" help:"Hold every job against its transitions, and both against the protocol's invariants."`
	Doctor     doctorCmd     `cmd:"" help:"Look at the database and its server, and say what an operator should do."`
	Rollups    rollupsCmd    `cmd:"" help:"Make the counts of the log anew."`
	Drill      drillCmd      `cmd:"" help:"Watch a stale result being refused, with two real worker processes."`
	Bench      benchCmd      `cmd:"" help:"Measure enqueueing and working of jobs on a database of its own."`
	Ver        versionCmd    `cmd:"" name:"version" help:"Print the version."`

	DrillWorker drillWorkerCmd `cmd:"" name:"drill-worker" hidden:"" help:"One of the drill's two processes."`
}

// versionFlag prints the version wherever it is given.
type versionFlag bool

// BeforeReset is kong's first hook: it comes before anything is checked.
func (versionFlag) BeforeReset(k *kong.Kong) error {
	fmt.Fprintln(k.Stdout, versionText())
	k.Exit(exitOK)
	return nil
}
