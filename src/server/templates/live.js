// Keeps the part of the page that tells what goes on now fresh. Without it the page is as it was when it was loaded.
"use strict";
const EVERY_MS = 5000;

async function refresh() {
  const part = document.getElementById("live");
  // Nobody looks, or somebody is about to follow a link in it.
  if (document.hidden || part.contains(document.activeElement)) return;
  const answer = await fetch(location.href, { credentials: "same-origin", redirect: "error" });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
  if (fresh && fresh.innerHTML !== part.innerHTML) part.replaceWith(document.adoptNode(fresh));
}

setInterval(() => refresh().catch(() => {}), EVERY_MS);
