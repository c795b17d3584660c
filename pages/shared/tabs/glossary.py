"""Glossary: each symbol and metric with its formula and the paper's section, and the references."""

from __future__ import annotations

import streamlit as st

from pages.shared.texts import GLOSSARY, REFERENCES

NAMES = [term["name"] for term in GLOSSARY]

st.title("Glossary", anchor=False)
st.markdown(
    "The symbols and metrics of the app. Sections and equations are from Gupta & Ramdas (2022), except "
    "where another source is named."
)
chosen = st.multiselect(
    "Terms", NAMES, key="terms", bind="query-params", placeholder="All terms: type to search"
)
shown = [term for term in GLOSSARY if not chosen or term["name"] in chosen]
for group in dict.fromkeys(term["group"] for term in shown):
    st.header(group, anchor=False)
    for term in shown:
        if term["group"] != group:
            continue
        with st.container(border=True):
            left, right = st.columns([1, 2], gap="medium")
            left.markdown(f"**{term['name']}**")
            left.caption(term["paper"])
            if "formula" in term:
                right.latex(term["formula"])
            right.markdown(term["meaning"].replace("$", "\\$"))
if not chosen:
    st.header("References", anchor=False)
    for work in REFERENCES:
        st.markdown(f"- {work['cite']}  \n  :small[{work['takes']}.]")
