package main

// jobsCmd holds the verbs that look at jobs and act on them.
type jobsCmd struct {
	List      jobsListCmd      `cmd:"" help:"List jobs, newest first."`
	Show      jobsShowCmd      `cmd:"" help:"Tell one job's story."`
	Requeue   jobsRequeueCmd   `cmd:"" help:"Make a job available again."`
	Terminate jobsTerminateCmd `cmd:"" help:"End a job for good."`
}
