// A worker's program in another language: the body on stdin, facts in RUNNER_TASK_*, the result to RUNNER_RESULT_FILE.
// Exit code 0: done. 75: run it again. 65: never again, to the dead letters. Any other: an error, retried by the queue's rules.
const fs = require("fs");

const body = JSON.parse(fs.readFileSync(0, "utf8"));
if (!body.payload || typeof body.payload.text !== "string") {
  console.error(`task ${process.env.RUNNER_TASK_ID}: its payload has no text`);
  process.exit(65);
}
const counts = {};
for (const word of body.payload.text.toLowerCase().split(/\s+/).filter(Boolean)) counts[word] = (counts[word] || 0) + 1;
fs.writeFileSync(process.env.RUNNER_RESULT_FILE, JSON.stringify(counts));
