/// The one style sheet of the console: light and dark, from 360 px on.
enum ConsoleStyle {
  static let css = """
    :root {
      color-scheme: light dark;
      --ground: light-dark(#fbfbfa, #16171a); --card: light-dark(#ffffff, #1e2024); --ink: light-dark(#1c1e21, #e8e8e6);
      --soft: light-dark(#62666d, #a0a4ab); --edge: light-dark(#e4e4e1, #30333a); --accent: light-dark(#3b4fc4, #9aa8ff);
      --good: light-dark(#17693f, #6fcf9a); --bad: light-dark(#a8321f, #ff9b87); --warn: light-dark(#8a5a00, #f0bf5c);
      --mono: ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, monospace;
    }
    * { box-sizing: border-box; }
    body {
      margin: 0; background: var(--ground); color: var(--ink);
      font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
    }
    a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 2px; }
    :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
    header {
      display: flex; flex-wrap: wrap; gap: .6rem 1.25rem; align-items: center; padding: .6rem 1.25rem;
      background: var(--card); border-bottom: 1px solid var(--edge);
    }
    .brand { font-weight: 650; letter-spacing: -.01em; color: var(--ink); text-decoration: none; }
    .find { display: flex; gap: .5rem; flex: 1 1 20rem; max-width: 42rem; }
    .who { display: flex; gap: .6rem; align-items: center; margin-left: auto; }
    .name { font-weight: 550; } .role, .none { color: var(--soft); }
    nav { display: flex; flex-wrap: wrap; gap: .15rem .85rem; flex-basis: 100%; font-size: .9rem; }
    nav a { color: var(--soft); text-decoration: none; padding: .1rem 0; border-bottom: 2px solid transparent; }
    nav a:hover { color: var(--ink); }
    nav a[aria-current] { color: var(--ink); border-bottom-color: var(--accent); font-weight: 550; }
    main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
    h1 { font-size: 1.45rem; font-weight: 650; letter-spacing: -.015em; margin: 0 0 .25rem; line-height: 1.25; }
    h1.id { overflow-wrap: anywhere; }
    h2 { font-size: 1.05rem; font-weight: 620; margin: 0 0 .5rem; }
    section { margin-top: 2rem; }
    p { margin: 0 0 .6rem; }
    .above { color: var(--soft); font-size: .85rem; margin: 0 0 .15rem; }
    .lead { color: var(--soft); }
    input, select, textarea {
      font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--edge); border-radius: 6px;
      padding: .4rem .65rem; width: 100%; min-width: 0;
    }
    button {
      font: inherit; font-weight: 550; color: light-dark(#ffffff, #14151a); background: var(--accent);
      border: 1px solid transparent; border-radius: 6px; padding: .4rem .9rem; cursor: pointer; white-space: nowrap;
    }
    button.quiet { background: none; color: var(--soft); border-color: var(--edge); font-weight: 450; }
    .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
    .verdicts { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); }
    .verdict {
      background: var(--card); border: 1px solid var(--edge); border-left: 4px solid var(--soft); border-radius: 8px;
      padding: 1rem 1.15rem; margin-top: 1rem;
    }
    .verdicts .verdict { margin-top: .5rem; }
    .verdict.yes { border-left-color: var(--good); } .verdict.no { border-left-color: var(--bad); }
    .verdict h2 { font-size: 1.25rem; letter-spacing: -.01em; }
    .verdict.yes h2 { color: var(--good); } .verdict.no h2 { color: var(--bad); }
    .advice { border-top: 1px solid var(--edge); padding-top: .6rem; margin: .75rem 0 0; }
    .flag {
      border: 1px solid var(--warn); color: var(--warn); background: var(--card); border-radius: 8px;
      padding: .6rem .9rem; margin: 1rem 0 0;
    }
    .flag + .above { margin-top: 1rem; }
    .mark {
      display: inline-block; border: 1px solid var(--edge); border-radius: 999px; padding: 0 .55rem; font-size: .82rem;
      color: var(--soft); white-space: nowrap;
    }
    .mark.good { color: var(--good); border-color: currentColor; }
    .mark.bad { color: var(--bad); border-color: currentColor; }
    .mark.test { color: var(--warn); border-color: currentColor; }
    .marks { display: flex; flex-wrap: wrap; gap: .35rem; } .marks:empty { display: none; }
    dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: .5rem 0 0; font-size: .92rem; }
    dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
    code, pre { font-family: var(--mono); font-size: .86em; }
    code { overflow-wrap: anywhere; }
    .scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--edge); border-radius: 8px; }
    .scroll + p, .verdict + p, .verdict + .scroll, .sparks + p, dl + p, dl + .scroll { margin-top: .75rem; }
    .wide { min-width: 18rem; }
    table { border-collapse: collapse; width: 100%; font-size: .92rem; }
    caption { text-align: left; color: var(--soft); font-size: .85rem; padding: .6rem .9rem .2rem; }
    th { text-align: left; font-weight: 550; font-size: .82rem; color: var(--soft); }
    th, td { padding: .42rem .9rem; border-bottom: 1px solid var(--edge); vertical-align: top; }
    tbody tr:last-child td { border-bottom: 0; }
    td time, td .none { white-space: nowrap; }
    td code { overflow-wrap: normal; }
    .note { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 14rem; max-width: 36rem; }
    textarea { min-height: 6rem; resize: vertical; }
    .fields div:has(textarea) { grid-column: 1 / -1; }
    td .detail { display: inline-block; min-width: 12rem; overflow-wrap: anywhere; }
    td:last-child:not(:first-child) code { overflow-wrap: anywhere; display: inline-block; min-width: 8rem; }
    time { text-decoration: underline dotted var(--soft) 1px; text-underline-offset: 3px; cursor: help; }
    .kind { font-size: .8rem; color: var(--soft); }
    .kind.event { color: var(--accent); }
    .life { margin-top: 1.5rem; }
    .life svg { width: 100%; height: 44px; display: block; }
    .life rect.paid { fill: var(--good); opacity: .75; } .life rect.refunded { fill: var(--bad); }
    .life rect.grace { fill: var(--warn); } .life rect.retry { fill: var(--bad); opacity: .45; }
    .life rect.owned { fill: var(--accent); } .life line { stroke: var(--ink); stroke-width: 2; }
    .ends { display: flex; justify-content: space-between; gap: 1rem; color: var(--soft); font-size: .82rem; }
    .legend { display: flex; flex-wrap: wrap; gap: 1rem; }
    .legend span::before {
      content: ""; display: inline-block; width: .65rem; height: .65rem; border-radius: 2px; margin-right: .35rem;
      background: var(--good);
    }
    .legend .grace::before { background: var(--warn); } .legend .refunded::before { background: var(--bad); }
    .legend .retry::before { background: var(--bad); opacity: .45; } .legend .owned::before { background: var(--accent); }
    .legend .now::before { background: var(--ink); width: 2px; border-radius: 0; vertical-align: -1px; }
    .sparks { display: grid; gap: .5rem; }
    .sparks div { display: grid; grid-template-columns: 4.5rem minmax(0, 24rem) auto; gap: .75rem; align-items: end; }
    .sparks svg { width: 100%; height: 34px; display: block; }
    .sparks rect.good { fill: var(--good); opacity: .75; } .sparks rect.bad { fill: var(--bad); }
    .sparks rect.time { fill: var(--accent); opacity: .75; } .sparks rect.none { fill: var(--edge); }
    .sparks .name { color: var(--soft); font-size: .88rem; } .sparks .none { white-space: nowrap; }
    .meter { width: 60px; height: 8px; vertical-align: 1px; }
    .meter .all { fill: var(--edge); } .meter .part { fill: var(--accent); } .meter .full { fill: var(--warn); }
    details { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: .5rem .9rem; margin-top: .5rem; }
    summary { cursor: pointer; }
    pre { overflow-x: auto; margin: .5rem 0; }
    .door { max-width: 24rem; padding-top: 12vh; }
    .door form { display: grid; gap: .5rem; margin-top: .5rem; }
    .door label { font-size: .88rem; font-weight: 550; margin-top: .4rem; }
    .door button { margin-top: .8rem; }
    .way {
      display: block; margin-top: 1.25rem; padding: .4rem .9rem; text-align: center; font-weight: 550;
      text-decoration: none; background: var(--card); border: 1px solid var(--edge); border-radius: 6px;
    }
    .fields { display: grid; gap: .75rem 1rem; margin: .75rem 0 .4rem; align-items: end;
      grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 1fr)); }
    .fields label { font-size: .88rem; font-weight: 550; }
    .fields button { justify-self: start; }
    .filters { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: center; margin: .75rem 0; }
    .filters label { display: flex; gap: .5rem; align-items: center; color: var(--soft); font-size: .9rem; }
    .pages { display: flex; gap: 1.25rem; margin-top: .9rem; }
    .buttons { margin-top: .9rem; display: flex; flex-wrap: wrap; gap: .6rem 0; }
    .inline { display: inline-block; margin: 0 .75rem 0 0; }
    dd .inline { margin: 0 0 0 .75rem; }
    td .inline { margin: 0; }
    td .inline + .inline { margin-left: .5rem; }
    .confirm { display: flex; flex-wrap: wrap; gap: 1rem; align-items: center; margin: 1.25rem 0; }
    .updates {
      float: right; display: flex; flex-wrap: wrap; justify-content: end; align-items: center; row-gap: .25rem;
      max-width: 100%; margin: 0 0 .5rem 1rem; color: var(--soft); font-size: .85rem;
    }
    .updates span:not(:empty) { margin-left: .75rem; }
    .mistake { color: var(--bad); margin: 0; min-height: 1.5em; }
    @media (max-width: 600px) {
      header, main { padding-left: .9rem; padding-right: .9rem; }
      dl { grid-template-columns: 1fr; } dd { margin-bottom: .35rem; }
      .who { margin-left: 0; }
    }
    @media print { header, .updates { display: none; } .scroll { overflow: visible; } }
    """
}
