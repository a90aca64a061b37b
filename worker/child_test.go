package worker

func init() { _ = ChildRole }

// ChildRole is the environment variable that makes this test binary a worker.
const ChildRole = "FENCELINE_TEST_WORKER"

// RunChild plays a role and returns the exit status.
func RunChild(role string) int { return 0 }
