import { createHash } from 'node:crypto'
import type { OpenApi, OpenApiOperation } from './openapi.ts'

/** The reference as one HTML page that loads no other file. */
export function referencePage(document: OpenApi): string {
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const contents = entries
    .map(
      ({ path, method, operation }) =>
        `<li><a href="#${operation.operationId}"><code>${method} ${escaped(path)}</code></a></li>`,
    )
    .join('')
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(String(document.info['title']))}</title><style>${style}</style>
<h1>${escaped(String(document.info['title']))}</h1><p>${escaped(String(document.info['description']))}</p>
<p>The same as a document: <a href="/openapi.json">openapi.json</a></p>
<nav><ul>${contents}</ul></nav>${entries.map(operationSection).join('')}</html>`
}

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
code,pre{font:14px/1.4 ui-monospace,monospace}pre{background:#f4f4f4;padding:.75rem;overflow:auto;max-height:28rem}
h2{margin-top:3rem;border-top:1px solid #ddd;padding-top:1rem}table{border-collapse:collapse}
td,th{border:1px solid #ddd;padding:.25rem .5rem;text-align:left;vertical-align:top}nav ul{list-style:none;padding:0}`

/** The page may use its own style and nothing else. */
export const referencePagePolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

function operationSection({
  path,
  method,
  operation,
}: {
  path: string
  method: string
  operation: OpenApiOperation
}): string {
  const callers = (operation.security ?? []).flatMap((scheme) => Object.keys(scheme)).join(' and ') || 'none'
  return `<section id="${operation.operationId}"><h2><code>${method} ${escaped(path)}</code></h2>
<p>${escaped(operation.summary)}. Credentials: ${escaped(callers)}.</p>${parameterTable(operation)}${bodyExample(operation)}
<h3>Answers</h3>${Object.entries(operation.responses).map(responseDetails).join('')}</section>`
}

function parameterTable(operation: OpenApiOperation): string {
  if (!operation.parameters) return ''
  const rows = operation.parameters.map(
    ({ name, in: location, schema }) =>
      `<tr><td><code>${escaped(name)}</code></td><td>${location}</td><td><code>${escapedJson(schema)}</code></td></tr>`,
  )
  return `<h3>Parameters</h3><table><tr><th>name</th><th>in</th><th>shape</th></tr>${rows.join('')}</table>`
}

function bodyExample(operation: OpenApiOperation): string {
  if (!operation.requestBody) return ''
  return `<h3>Body</h3><pre>${escapedJson(operation.requestBody.content['application/json'].schema, 2)}</pre>`
}

function responseDetails([status, response]: [string, OpenApiOperation['responses'][string]]): string {
  const { description, headers = {}, content } = response
  const told = Object.entries(headers).map(
    ([name, header]) => `<p><code>${escaped(name)}</code> ${escaped(header.description)}</p>`,
  )
  const shape = content ? `<pre>${escapedJson(content['application/json'].schema, 2)}</pre>` : ''
  return `<details><summary>${status} ${escaped(description)}</summary>${told.join('')}${shape}</details>`
}

function escapedJson(value: unknown, indent?: number): string {
  return escaped(JSON.stringify(value, null, indent))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
