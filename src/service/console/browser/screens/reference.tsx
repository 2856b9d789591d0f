import { useEffect, useRef } from 'preact/hooks'
import { useAnswer } from '../../../../web/browser/ask.ts'
import { Answered, Empty } from '../../../../web/browser/parts.tsx'
import type { ReferenceAnswer } from '../../routes/operations-routes.ts'

/** The page of `/docs`, beginning with the operation of the address. The service makes it of its own schemas alone. */
export function ReferenceScreen({ params: { operation } }: { params: Readonly<Record<string, string>> }) {
  const { answer, again } = useAnswer<ReferenceAnswer>('reference')
  return (
    <Answered answer={answer} again={again}>
      {({ contents, text }) =>
        operation && !text.includes(`<section id="${operation}"`) ? (
          <Empty>There is no such operation.</Empty>
        ) : (
          <Page contents={contents} text={text} operation={operation} />
        )
      }
    </Answered>
  )
}

function Page({ contents, text, operation = '' }: { contents: string; text: string; operation?: string | undefined }) {
  const page = useRef<HTMLDivElement>(null)
  useEffect(() => page.current?.querySelector(`[id="${operation}"]`)?.scrollIntoView(), [operation])
  return (
    <div class="reference" ref={page}>
      <div dangerouslySetInnerHTML={{ __html: text }} />
      <nav aria-label="Operations" dangerouslySetInnerHTML={{ __html: contents }} />
    </div>
  )
}
