"""A classifier of scikit-learn that looks at keyphrases."""

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from mudy.integrations.sklearn import KeyphraseVectorizer

texts = [
    "The river dam holds the spring flood.",
    "The flood broke a river dam.",
    "Bake the apple cake.",
    "An apple cake.",
]
classifier = make_pipeline(KeyphraseVectorizer(speed="quick"), LogisticRegression())
classifier.fit(texts, ["water", "water", "food", "food"])
print(classifier[0].get_feature_names_out().tolist())
print(classifier.predict(["A new river dam is planned.", "Who ate the apple cake?"]).tolist())
