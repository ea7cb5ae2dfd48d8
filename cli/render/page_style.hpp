// SPDX-License-Identifier: Apache-2.0
// The style sheet of the pages. The twelve steps h0 … h11 go from pale to strong in one hue, so that
// they read without colour vision too; t0 … t11 is the text colour with a contrast of 4.4 or more on each.
#pragma once

#include <string_view>

namespace cli::render {

inline constexpr int heat_steps = 12;

inline constexpr std::string_view page_style = R"css(
:root{color-scheme:light dark;--bg:#f6f8fa;--card:#fff;--ink:#16202a;--soft:#566573;--line:#d8dfe6;--accent:#1f6a9e;
--loud-bg:#ffe28a;--loud-ink:#3d2b00;--loud-line:#c99700;--care-bg:#fff6df;--care-ink:#5b4300;--care-line:#e6c46a;
--bad:#b3261e;--warn:#9a5b00;--odd:#d9480f;--gpu:#e3f1ea;--gpu-line:#2c8a5c;--nic:#ebe7f7;--nic-line:#6b4fb3;--numa:#f1f4f7;
--took:#1f6a9e;--took-ink:#fff;--busy:#cfd6dd;
--h0:#f3f7fa;--t0:#0b1620;--h1:#e2eef5;--t1:#0b1620;--h2:#d1e4f0;--t2:#0b1620;--h3:#bcd9ea;--t3:#0b1620;--h4:#9dc9e2;--t4:#0b1620;
--h5:#7eb8da;--t5:#0b1620;--h6:#62a6cf;--t6:#0b1620;--h7:#4891c0;--t7:#0b1620;--h8:#2e7cb2;--t8:#fff;--h9:#1f6a9e;--t9:#fff;
--h10:#155889;--t10:#fff;--h11:#0b4774;--t11:#fff}
@media (prefers-color-scheme:dark){:root{--bg:#10171d;--card:#172028;--ink:#e4ebf1;--soft:#9babb9;--line:#2c3944;--accent:#6db8e4;
--loud-bg:#4a3700;--loud-ink:#ffe7a3;--loud-line:#c99700;--care-bg:#2d2614;--care-ink:#f0d894;--care-line:#75612c;
--bad:#ff8a80;--warn:#ffbe5c;--odd:#ff8c4a;--gpu:#17362a;--gpu-line:#5cc394;--nic:#2a2341;--nic-line:#a995e6;--numa:#1c2730;
--took:#53a8da;--took-ink:#0b1620;--busy:#3a4752;
--h0:#1a2730;--t0:#fff;--h1:#1c3140;--t1:#fff;--h2:#1e3b4f;--t2:#fff;--h3:#204760;--t3:#fff;--h4:#235574;--t4:#fff;
--h5:#266389;--t5:#fff;--h6:#3075a0;--t6:#fff;--h7:#3f8cba;--t7:#0b1620;--h8:#4fa2d4;--t8:#0b1620;--h9:#6db8e4;--t9:#0b1620;
--h10:#91cdf2;--t10:#0b1620;--h11:#b4e2ff;--t11:#0b1620}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
header,main,footer{max-width:1240px;margin:0 auto;padding:0 24px}
header{padding-top:28px}
h1{font-size:26px;line-height:1.25;margin:0;overflow-wrap:anywhere}
header p{margin:2px 0 0;color:var(--soft);overflow-wrap:anywhere}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:20px 22px;margin:18px 0}
h2{font-size:19px;margin:0 0 2px;overflow-wrap:anywhere}
h3{font-size:15px;margin:26px 0 8px}
.sub{color:var(--soft);margin:0 0 12px;overflow-wrap:anywhere}
.box{border:1px solid var(--care-line);background:var(--care-bg);color:var(--care-ink);border-radius:8px;padding:8px 14px;margin:10px 0}
.box.loud{border:2px solid var(--loud-line);background:var(--loud-bg);color:var(--loud-ink);font-size:16px}
.box b{letter-spacing:.04em;margin-right:.4em}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin:14px 0}
.tiles div{border:1px solid var(--line);border-radius:8px;padding:8px 12px}
.tiles dt{color:var(--soft);font-size:12.5px}
.tiles dd{margin:0;font-size:21px;font-weight:600;font-variant-numeric:tabular-nums;line-height:1.3;overflow-wrap:anywhere}
.tiles dd.more{font-size:12.5px;font-weight:400;color:var(--soft)}
.findings{list-style:none;margin:0;padding:0}
.findings li{padding:7px 0;border-top:1px solid var(--line);overflow-wrap:anywhere}
.findings li:first-child{border-top:0}
.findings .sev{display:inline-block;min-width:5.2em;font-weight:600;color:var(--soft)}
.findings .error .sev{color:var(--bad)}.findings .warning .sev{color:var(--warn)}
.findings code{font-size:13px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:0 0 6px;white-space:nowrap}
caption small{font-weight:400;color:var(--soft)}
table.data{width:100%;font-size:14px}
table.data th{text-align:left;color:var(--soft);font-weight:600;font-size:12.5px;border-bottom:1px solid var(--line);padding:4px 14px 4px 0;white-space:nowrap}
table.data td{border-bottom:1px solid var(--line);padding:5px 14px 5px 0;overflow-wrap:break-word;min-width:0}
table.data td.short{white-space:nowrap}
table.data tr:last-child td{border-bottom:0}
.maps{display:flex;flex-wrap:wrap;gap:22px 34px;align-items:flex-start}
.maps>.scroll{max-width:100%}
table.heat{font-size:12.5px;border-spacing:0}
table.heat th{font-weight:500;color:var(--soft);padding:3px 4px;text-align:right;white-space:nowrap;font-size:12px}
table.heat thead th{text-align:center}
table.heat th[scope=row]{position:sticky;left:0;background:var(--card)}
table.heat td{padding:5px 5px;min-width:3.6em;text-align:center;border:1px solid var(--card)}
table.heat td.none{color:var(--soft)}
table.heat td.odd{box-shadow:inset 0 0 0 2.5px var(--odd);font-weight:700}
table.heat td[data-tip]:hover{outline:2px solid var(--ink);outline-offset:-1px}
table.heat tr:hover th[scope=row]{color:var(--ink);font-weight:700}
table.heat td[data-tip]:hover::after{content:attr(data-tip);position:fixed;left:50%;bottom:18px;transform:translateX(-50%);z-index:9;
background:var(--ink);color:var(--bg);padding:8px 14px;border-radius:8px;font-size:14px;font-weight:500;width:max-content;max-width:92vw;white-space:normal;pointer-events:none}
.scale{display:flex;align-items:center;gap:6px;color:var(--soft);font-size:12.5px;margin:6px 0 0}
.scale i{width:14px;height:12px;display:inline-block}
.scale i:first-of-type{border-radius:3px 0 0 3px}.scale i:last-of-type{border-radius:0 3px 3px 0}.scale span.bar{display:inline-flex}
.note{color:var(--odd);font-size:13px;margin:4px 0 0}
details{margin:16px 0 0}summary{cursor:pointer;color:var(--accent);font-weight:600}
.picture{overflow-x:auto;margin:8px 0}
svg{display:block;max-width:none}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;fill:var(--ink)}
svg .soft{fill:var(--soft)}svg .small{font-size:10.5px}svg .strong{font-weight:600}
svg .numa{fill:var(--numa);stroke:var(--line)}
svg .gpu{fill:var(--gpu);stroke:var(--gpu-line)}svg .nic{fill:var(--nic);stroke:var(--nic-line)}
svg .off{stroke-dasharray:3 3;opacity:.65}
svg .link{fill:none;stroke:var(--gpu-line)}svg .near{fill:none;stroke:var(--nic-line);stroke-width:1.4}
svg .island{fill:var(--gpu);stroke:var(--gpu-line)}
svg .tree{fill:none;stroke:var(--soft);stroke-width:1.2;opacity:.7}
svg .switch{fill:var(--card);stroke:var(--accent);stroke-width:1.3}
svg .leaf{fill:var(--numa);stroke:var(--line)}
svg .taken{fill:var(--took);stroke:var(--took)}svg .on-taken{fill:var(--took-ink)}svg .busy{fill:var(--busy);stroke:var(--line)}
svg .grid{fill:none;stroke:var(--line)}
svg .line{fill:none;stroke-width:1.8;stroke-linejoin:round}svg .bar{stroke:none}
.legend{margin:2px 0 0;color:var(--soft);font-size:13px}.legend svg{display:inline-block;vertical-align:middle}.legend span{margin-right:14px;white-space:nowrap}
svg .line.s0{stroke:#1f6a9e;stroke-width:2.6}svg .bar.s0{fill:#1f6a9e}svg .line.s1{stroke:#d9480f}svg .bar.s1{fill:#d9480f}
svg .line.s2{stroke:#7d8a97;stroke-dasharray:7 3}svg .bar.s2{fill:#7d8a97}svg .line.s3{stroke:#2c8a5c;stroke-dasharray:2 3}svg .bar.s3{fill:#2c8a5c}
svg .line.s4{stroke:#8d6fe0;stroke-dasharray:9 3 2 3}svg .bar.s4{fill:#8d6fe0}svg .line.s5{stroke:#c28b00;stroke-dasharray:4 2}svg .bar.s5{fill:#c28b00}
svg .line.s6{stroke:#c2418c;stroke-dasharray:1 2}svg .bar.s6{fill:#c2418c}svg .line.s7{stroke:#3aa6b9;stroke-dasharray:12 4}svg .bar.s7{fill:#3aa6b9}
@media (prefers-color-scheme:dark){svg .line.s0{stroke:#6db8e4}svg .bar.s0{fill:#6db8e4}svg .line.s1{stroke:#ff8c4a}svg .bar.s1{fill:#ff8c4a}}
code{font-family:ui-monospace,"DejaVu Sans Mono",monospace}
footer{color:var(--soft);font-size:13px;padding-bottom:34px}
@media (max-width:640px){header,main,footer{padding-left:12px;padding-right:12px}section{padding:14px}}
@media print{body{background:#fff}section{break-inside:avoid-page}}
)css";

}  // namespace cli::render
