"""The style of the run report as a page: light and dark, wide and narrow, and on paper."""

STYLE = """
:root{color-scheme:light dark;--text:#1c2330;--quiet:#5b6472;--page:#f6f7f9;--card:#fff;--line:#dde1e7;
--good:#11703c;--bad:#b3261e;--active:#1d5fb4}
@media(prefers-color-scheme:dark){:root{--text:#e4e7ec;--quiet:#9aa3b2;--page:#12151b;--card:#1b2029;--line:#2e3542;
--good:#5fce8f;--bad:#ff8a80;--active:#7fb2f5}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.55 system-ui,sans-serif}
main{max-width:62rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{margin:0 0 .4rem;font-size:1.7rem;overflow-wrap:anywhere}
h2{margin:0 0 .8rem;font-size:1.15rem}
section{margin-top:1.2rem;padding:1.1rem 1.2rem;background:var(--card);border:1px solid var(--line);border-radius:.6rem}
p{margin:.5rem 0;overflow-wrap:anywhere}
.quiet{color:var(--quiet);font-size:.9rem}
.state{font-weight:600}
.good{color:var(--good)}.bad{color:var(--bad)}.active{color:var(--active)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.7rem;margin:1rem 0 0}
.cards div{padding:.6rem .8rem;background:var(--card);border:1px solid var(--line);border-radius:.6rem}
dt{color:var(--quiet);font-size:.8rem}dd{margin:0;font-weight:600;overflow-wrap:anywhere}
.entries{list-style:none;margin:0;padding:0}
.entries li{padding:.6rem 0;border-top:1px solid var(--line);overflow-wrap:anywhere}
.entries li:first-child{border-top:0;padding-top:0}
blockquote{margin:.4rem 0 0;padding:.1rem 0 .1rem .8rem;border-left:3px solid var(--line);white-space:pre-wrap;
overflow-wrap:anywhere}
pre{margin:.5rem 0;padding:.8rem;background:var(--page);border-radius:.4rem;overflow-x:auto;white-space:pre-wrap;
overflow-wrap:anywhere;font-size:.85rem}
code{font-size:.85em;font-family:ui-monospace,monospace;overflow-wrap:anywhere}
.wide{overflow-x:auto;margin:.8rem 0}
table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{padding:.35rem .7rem .35rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{color:var(--quiet);font-weight:500;white-space:nowrap}
td{min-width:4rem}
summary{cursor:pointer;color:var(--active)}
meter{width:6rem;vertical-align:middle}
@media print{body{background:#fff;color:#000;font-size:11pt}main{padding:0;max-width:none}
section,.cards div{border-color:#bbb}
section{break-inside:auto}tr,li{break-inside:avoid}
details::details-content{content-visibility:visible;block-size:auto}summary{color:inherit}}
"""
