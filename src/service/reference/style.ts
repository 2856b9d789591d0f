/** The look of the reference: light and dark, from a phone's width on. */
export const style = `:root{color-scheme:light dark;--ink:#1d2329;--dim:#59636e;--line:#d9dee3;--ground:#fff;--code:#f3f5f7;--accent:#0b5f8a}
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
