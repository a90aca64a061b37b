package main

// jobsCmd holds the verbs that look at jobs and act on them.
type jobsCmd struct {
	List      jobsListCmd      `cmd:"" help:"List jobs, newest first."`
	Show      jobsShowCmd      `cmd:"" help:"Tell one job's story."`
	Requeue   jobsRequeueCmd   `cmd:"" help:"Make a job available again, also with other args."`
	Terminate jobsTerminateCmd `cmd:"" help:"End a job for good."`
	Amend     jobsAmendCmd     `cmd:"" help:"Change a job's args, priority, queue, due time, budget or tags."`
	Note      jobsNoteCmd      `cmd:"" help:"Write a note on a job's timeline."`
	Duplicate jobsDuplicateCmd `cmd:"" help:"Enqueue a new job like one that is there."`
	Erase     jobsEraseCmd     `cmd:"" help:"Erase an ended job's payload; its timeline stays."`
	Versions  jobsVersionsCmd  `cmd:"" help:"List the versions of a job's args that are kept, or show one."`
}
