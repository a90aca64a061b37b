package browser

const asWorker = "BE_A_WORKER_OF_THE_BROWSER_TESTS"

func work() {}
