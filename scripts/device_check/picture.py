# SPDX-License-Identifier: Apache-2.0
"""Draws the ratios as a picture: one bar per row that has a goal or is a ratio, with the goal as a mark; p99 in a panel
of its own."""
from html import escape

# Colours that differ on white, and in lightness for colour-blind readers (Okabe and Ito), as in
# daemon/sim/compare/compare_svg.c.
MET, MISSED, PLAIN = "#009e73", "#d55e00", "#0072b2"
WIDTH, LEFT, ROW, TOP = 900, 380, 22, 40


def ratios(report):
    """(name, value, goal or None, met)"""
    found = []
    for _, row in report.rows():
        if isinstance(row["value"], float) and not row["unit"]:
            goal = row.get("goal", "")
            found.append((row["what"], row["value"], float(goal[2:]) if goal[:1] in "≤≥" and goal[2:] else None,
                          row.get("met")))
    return found


def times(report):
    return [(row["what"], row["value"], None, None) for _, row in report.rows()
            if row["what"].startswith("p99, ") and row["value"]]


def panel(out, y, title, rows, unit):
    if not rows:
        return y
    most = max(max(v, g or 0) for _, v, g, _ in rows) or 1
    # Cuts off values far beyond the others, so that the others can be read.
    middle = sorted(v for _, v, _, _ in rows)[len(rows) // 2]
    most = min(most, 6 * middle) or 1
    scale = (WIDTH - LEFT - 90) / most
    out.append(f'<text x="10" y="{y + 14}" font-size="14" font-weight="bold">{escape(title)}</text>')
    y += 24
    for name, v, goal, met in rows:
        colour = {True: MET, False: MISSED, None: PLAIN}[met]
        width = max(min(v, most) * scale, 0)
        out.append(f'<text x="{LEFT - 8}" y="{y + 14}" font-size="11" text-anchor="end">{escape(name)}</text>')
        out.append(f'<rect x="{LEFT}" y="{y + 3}" width="{width:.1f}" height="{ROW - 7}" fill="{colour}"/>')
        out.append(f'<text x="{LEFT + width + 5:.1f}" y="{y + 14}" font-size="11">{v:.4g}{unit}</text>')
        if goal is not None and goal <= most:
            x = LEFT + goal * scale
            out.append(f'<path d="M{x:.1f} {y}v{ROW}" stroke="#000" stroke-width="1.5" stroke-dasharray="3,2"/>')
        y += ROW
    return y + 16


def draw(report, path):
    about = report.data["about"]
    title = "Small sizes: the figures mean nothing" if not about["counts"] else f"{about.get('gpu')}"
    out, y = [], TOP
    y = panel(out, y, "Ratios; dashed: the goal", ratios(report), "")
    y = panel(out, y, "p99 of a request, µs", times(report), " µs")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" font-family="sans-serif">\n'
                f'<rect width="{WIDTH}" height="{y}" fill="#fff"/>\n'
                f'<text x="10" y="22" font-size="16">device-check: {escape(title)}</text>\n'
                + "\n".join(out) + "\n</svg>\n")
