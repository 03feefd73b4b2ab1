// Runs the public suite for HTTP caches from the folder named first: its origin on a free port of loopback, which is the first line
// that is written; its requests go to the URL that is read. Then a line for each test: kind, name, outcome.
import http from 'node:http'
import path from 'node:path'
import { createInterface } from 'node:readline/promises'
import { pathToFileURL } from 'node:url'

const suite = path.resolve(process.argv[2])
const load = file => import(pathToFileURL(path.join(suite, file)))
const handlers = {
  config: (await load('server/handle-config.mjs')).default,
  state: (await load('server/handle-state.mjs')).default,
  test: (await load('server/handle-test.mjs')).default
}
const { default: fetch } = await load('../node-fetch/lib/index.mjs')
const { runTests, getResults } = await load('client/runner.mjs')
const { default: groups } = await load('tests/index.mjs')

const origin = http.createServer((request, response) => {
  const [, kind, ...rest] = new URL(request.url, 'http://localhost').pathname.split('/')
  if (kind in handlers) handlers[kind](rest, request, response)
  else response.writeHead(404).end()
})
origin.listen(0, '127.0.0.1', () => console.log(origin.address().port))

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
await runTests(groups, fetch, false, (await lines.next()).value)
const results = getResults()
for (const { tests } of groups) {
  for (const { id, kind = 'required' } of tests) {
    if (!(id in results)) continue
    const outcome = results[id] === true ? 'passed' : results[id].join(': ')
    console.log(`${kind}\t${id}\t${outcome}`)
  }
}
process.exit(0)
