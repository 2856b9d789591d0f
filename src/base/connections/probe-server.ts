import { connect, type Socket } from 'node:net'

/** The kind of server that listens at an address, as far as it can be known without credentials. */
type ProbedServer = 'Postgres' | 'Redis' | 'a web server' | 'another server' | 'silence' | 'nothing'

const CONNECT_TIMEOUT_MS = 3000
const ANSWER_TIMEOUT_MS = 1500
const ANSWER_BYTES_MAX = 4096

/** The request by which a client asks a Postgres for TLS: the answer is one letter, and nothing else answers so. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
/** An empty line and a command: Redis answers each command, also a client that has not logged in. */
const REDIS_PING = Buffer.from('\r\nPING\r\n')

/** Identifies a server that could not be used. For the time after a failure: three short requests at most. */
export async function probeServer({ host, port }: { host: string; port: number }): Promise<ProbedServer> {
  const asTls = await answerTo({ host, port }, TLS_REQUEST)
  if (asTls === undefined) return 'nothing'
  if (isOfPostgres(asTls)) return 'Postgres'
  if (asTls !== '') return kindOfAnswer(asTls)
  const asRedis = await answerTo({ host, port }, REDIS_PING)
  return asRedis === undefined || asRedis === '' ? 'silence' : kindOfAnswer(asRedis)
}

/** A port, or a Unix socket. */
type ProbedAddress = { readonly host: string; readonly port: number } | { readonly path: string }

/** Whether a Postgres answers there, and soon. */
export async function answersAsPostgres(address: ProbedAddress): Promise<boolean> {
  const answer = await answerTo(address, TLS_REQUEST)
  return answer !== undefined && isOfPostgres(answer)
}

const isOfPostgres = (answer: string) => answer === 'S' || answer === 'N'

function kindOfAnswer(answer: string): ProbedServer {
  if (/^HTTP\/|^<(!doctype|html)/i.test(answer)) return 'a web server'
  if (/^(\+PONG|-(NOAUTH|ERR|NOPERM|LOADING|DENIED))/.test(answer)) return 'Redis'
  return 'another server'
}

/** The first bytes of the answer; empty where the server says nothing or hangs up, undefined where nothing listens. */
function answerTo(address: ProbedAddress, question: Buffer): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket: Socket = connect(address)
    let isConnected = false
    let answer = ''
    const end = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(isConnected ? answer : undefined)
    }
    let timer = setTimeout(end, CONNECT_TIMEOUT_MS)
    socket.once('connect', () => {
      isConnected = true
      clearTimeout(timer)
      timer = setTimeout(end, ANSWER_TIMEOUT_MS)
      socket.write(question)
    })
    socket.on('data', (chunk) => {
      answer = (answer + chunk.toString('latin1')).slice(0, ANSWER_BYTES_MAX)
      end()
    })
    socket.once('end', end)
    socket.once('error', end)
  })
}
