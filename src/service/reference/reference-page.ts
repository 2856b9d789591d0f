import { createHash } from 'node:crypto'
import { type Field, fieldsOf, noteOf, type Schema, shapeWords, typeWords } from '../../base/text/plain-types.ts'
import type { ServiceRoute } from '../http/service-route.ts'
import { callerWords, curlOf, type Example, recordedExamples } from './examples.ts'
import type { OpenApi, OpenApiOperation } from './openapi.ts'
import { type ReferenceEntry, type ReferenceSection, sectionsOf } from './sections.ts'

/** The contents and the text of the reference, in HTML: operations by task, plain types, and an example of each. */
export function referenceParts(document: OpenApi, routes: readonly ServiceRoute[]): { contents: string; text: string } {
  const sections = sectionsOf(document)
  const words = new Map(routes.map((route) => [route.name, route.words]))
  const { title, description } = document.info
  return {
    contents: contentsOf(sections),
    text: `<h1>${escaped(String(title))}</h1><p>${escaped(String(description))}</p>${guide}
${sections.map((section) => sectionHtml(section, words)).join('')}${errorsHtml(document)}`,
  }
}

/** The reference as one HTML page that loads no other file. */
export function referencePage(document: OpenApi, routes: readonly ServiceRoute[]): string {
  const { contents, text } = referenceParts(document, routes)
  const title = escaped(String(document.info['title']))
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title}</title><style>${style}</style>
<nav aria-label="Operations"><strong>${title}</strong>${contents}</nav>
<main>${text}</main></html>`
}

/** The look of the reference: light and dark, from a phone's width on. */
const style = `:root{color-scheme:light dark;--ink:#1d2329;--dim:#59636e;--line:#d9dee3;--ground:#fff;--code:#f3f5f7;--accent:#0b5f8a}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--dim:#a3adb8;--line:#343b43;--ground:#15191d;--code:#1f252b;--accent:#7cc4ec}}
*{box-sizing:border-box}body{margin:0;font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--ground)}
main{max-width:56rem;padding:1.5rem;margin:0 auto}a{color:var(--accent)}
nav{padding:1.5rem;font-size:.875rem;border-bottom:1px solid var(--line)}nav p{margin:1rem 0 .25rem;color:var(--dim)}
nav ul{list-style:none;margin:0;padding:0}nav a{display:grid;grid-template-columns:3.75rem 1fr;align-items:baseline;padding:.15rem 0;text-decoration:none;overflow-wrap:anywhere}
nav b{font-size:.75rem;color:var(--dim)}
@media(min-width:72rem){nav{position:fixed;inset:0 auto 0 0;width:21rem;overflow:auto;border-bottom:0;border-right:1px solid var(--line)}
main{margin-left:21rem;padding:2rem 3rem}}
h1{font-size:1.75rem;line-height:1.2}h2{margin-top:3.5rem;font-size:1.35rem}h3{margin:2.5rem 0 .5rem;font-size:1rem}
h4{margin:1.25rem 0 .25rem;font-size:.875rem;color:var(--dim)}section{border-top:1px solid var(--line)}
code,pre{font:.85em/1.5 ui-monospace,monospace}pre{background:var(--code);padding:.75rem 1rem;border-radius:.4rem;overflow:auto;max-height:26rem;margin:.5rem 0}
h3 code{font-size:1rem;overflow-wrap:anywhere}table{border-collapse:collapse;width:100%;font-size:.9rem;display:block;overflow-x:auto}
td,th{border-bottom:1px solid var(--line);padding:.35rem .75rem .35rem 0;text-align:left;vertical-align:top}th{color:var(--dim);font-weight:500}
td:nth-child(2){min-width:12rem;overflow-wrap:anywhere}.caller{color:var(--dim)}.answer,summary{margin:.25rem 0}summary{cursor:pointer}`

/** The page may use its own style and nothing else. */
export const referencePagePolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const contentsOf = (sections: readonly ReferenceSection[]) =>
  sections
    .map(({ title, entries }) => {
      const links = entries.map(
        ({ method, path, operation }) =>
          `<li><a href="#${operation.operationId}"><b>${method}</b> ${escaped(path.replace('/api/v1/', ''))}</a></li>`,
      )
      return `<p>${escaped(title)}</p><ul>${links.join('')}</ul>`
    })
    .join('')

const guide = `<p>The same as a document for programs: <a href="/openapi.json">openapi.json</a>. In the examples <code>$SERVICE</code> stands
for the address of this service: they were recorded from made-up people, and long lists are cut to one item.</p>
<h2 id="authentication">Authentication</h2>
<p>There are two kinds of tokens, and app keys. A request carries one of them:</p>
<table><tr><th>caller</th><th>headers</th><th>got from</th></tr>
<tr><td>account</td><td><code>Authorization: account ACCOUNT_TOKEN</code></td><td><a href="#accountToken">accountToken</a>, with the clientId and
clientSecret of a key: <code>vitalsync service keys create</code></td></tr>
<tr><td>profile</td><td><code>Authorization: profile PROFILE_TOKEN</code></td><td><a href="#register">register</a> or <a href="#profileToken">profileToken</a>;
renewed by <a href="#refreshToken">refreshToken</a>, which spends its refresh token</td></tr>
<tr><td>app</td><td><code>AppId: …</code> and <code>AppSecret: …</code></td><td>an app key: <code>vitalsync service keys create --app</code></td></tr></table>
<p>An account reaches its own profiles only, a profile token its own profile only. Revoking a key ends every token that descends from it.</p>
<h2 id="conventions">Conventions</h2>
<ul><li>Bodies are JSON in UTF-8, up to 1 MiB, plain or gzip. Names are case-sensitive, and unknown ones are left alone.</li>
<li>Date-times are ISO 8601. One without an offset is in UTC.</li>
<li>Lists in a query are separated by commas. The header <code>query-notes</code> of an answer names parameters and words without effect.</li>
<li>Derived answers carry an <code>ETag</code>: with <code>If-None-Match</code> an answer that has not changed is a 304 without a body.</li>
<li>429 and 503 carry <code>Retry-After</code> in seconds.</li></ul>`

type Words = ReadonlyMap<string, ServiceRoute['words']>

function sectionHtml({ title, about, entries }: ReferenceSection, words: Words): string {
  const name = title.toLowerCase().replaceAll(' ', '-')
  return `<h2 id="${name}">${escaped(title)}</h2><p>${escaped(about)}</p>${entries
    .map((entry) => operationHtml(entry, words.get(entry.operation.operationId)))
    .join('')}`
}

function operationHtml({ path, method, operation }: ReferenceEntry, words: ServiceRoute['words']): string {
  const { operationId, summary } = operation
  return `<section id="${operationId}"><h3><code><b>${method}</b> ${escaped(path)}</code></h3>
<p>${escaped(summary)}. <span class="caller">${escaped(callerWords(operation))}</span> <a href="/console/query/${operationId}">Try it in the console</a></p>
${parametersHtml(operation, words)}${bodyHtml(operation)}${exampleHtml(recordedExamples[operationId])}<h4>Answers</h4>${answersHtml(operation)}</section>`
}

function parametersHtml({ parameters = [] }: OpenApiOperation, words: ServiceRoute['words'] = {}): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map((parameter) => {
    const { name, in: location, required, description } = parameter
    const schema = parameter.schema as Schema // openApiOf makes it of a zod schema
    const choices = words[name] ?? schema.items?.enum ?? []
    const notes = [
      location === 'query' ? '' : `in the ${location}`,
      description ?? noteOf(schema),
      choices.length > 0 ? `one of ${choices.join(', ')}` : '',
    ]
    return rowHtml({ path: name, type: typeWords(schema), required, note: notes.filter(Boolean).join('; ') })
  })
  return `<h4>Parameters</h4>${tableHtml(rows)}`
}

function bodyHtml({ requestBody }: OpenApiOperation): string {
  if (!requestBody) return ''
  const optional = requestBody.required ? '' : ', which may be absent'
  return `<h4>Body${optional}</h4>${shapeHtml(requestBody.content['application/json'].schema as Schema)}`
}

/** The fields of a body, or its type where it has none. */
function shapeHtml(schema: Schema): string {
  const fields = fieldsOf(schema)
  if (fields.length === 0) return `<p>${escaped(typeWords(schema))}</p>`
  return `<p>${escaped(shapeWords(schema))}</p>${tableHtml(fields.map(rowHtml))}`
}

const tableHtml = (rows: readonly string[]) =>
  `<table><tr><th>name</th><th>type</th><th>note</th></tr>${rows.join('')}</table>`

function rowHtml({ path, type, required, note }: Field): string {
  const notes = [required ? 'required' : '', note].filter(Boolean).join('; ')
  return `<tr><td><code>${escaped(path)}</code></td><td>${escaped(type)}</td><td>${escaped(notes)}</td></tr>`
}

function exampleHtml(example: Example | undefined, heading = 'h4'): string {
  if (!example) return ''
  const { status, body } = example.answer
  const answer = body === undefined ? '' : `\n${JSON.stringify(body, null, 2)}`
  return `<${heading}>Example</${heading}><pre tabindex="0">${escaped(curlOf(example))}</pre><pre tabindex="0">${escaped(`${status}${answer}`)}</pre>`
}

/** Errors of all operations have one shape, which the page shows once. */
function answersHtml({ responses }: OpenApiOperation): string {
  const errors = Object.keys(responses).filter(isError)
  const others = Object.entries(responses).filter(([status]) => !isError(status))
  return `${others.map(answerHtml).join('')}<p class="answer"><a href="#errors">Errors</a>: ${errors.join(', ')}</p>`
}

const isError = (status: string) => Number(status) >= 400

function answerHtml([status, response]: [string, OpenApiOperation['responses'][string]]): string {
  const { description, headers = {}, content } = response
  const described = Object.entries(headers).map(
    ([name, header]) => `<p><code>${escaped(name)}</code> ${escaped(header.description)}</p>`,
  )
  const shape = content ? shapeHtml(content['application/json'].schema as Schema) : ''
  if (described.length === 0 && shape === '') return `<p class="answer">${status} ${escaped(description)}</p>`
  return `<details><summary>${status} ${escaped(description)}</summary>${shape}${described.join('')}</details>`
}

function errorsHtml(document: OpenApi): string {
  const { Error: shape } = (document.components['schemas'] ?? {}) as { Error?: Schema }
  if (!shape) return ''
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  const statuses = new Map(
    operations.flatMap(({ responses }) => Object.entries(responses)).filter(([status]) => isError(status)),
  )
  const rows = [...statuses]
    .toSorted(([error], [other]) => Number(error) - Number(other))
    .map(([status, { description }]) => `<tr><td>${status}</td><td>${escaped(description)}</td></tr>`)
  return `<h2 id="errors">Errors</h2><table><tr><th>status</th><th>meaning</th></tr>${rows.join('')}</table>
<p>Each of these answers has the same body.</p>${shapeHtml(shape)}${exampleHtml(recordedExamples['error'], 'h3')}`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
